"""A whole gateway to attack: runs, chats and completions, with tokens, and without limits on the rate of calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from soliloquy.client import Sandbox
from soliloquy.runs.chat import routes, tutoring
from soliloquy.runs.model import ModelSettings
from soliloquy_services.gateway.chat.chats import ChatSettings
from soliloquy_services.gateway.chat.messages import EndpointRules
from tests.integration.executor.calling import served
from tests.integration.executor.support import started
from tests.integration.gateway.site import Site, guarded, site
from tests.integration.transport.embedded import connect

MODEL = ModelSettings(problems=["physics", "arithmetic"])


@asynccontextmanager
async def attacked(folder: Path) -> AsyncIterator[Site]:
    settings = ChatSettings()
    datasets = folder / "datasets"
    datasets.mkdir()
    async with (
        started(folder) as pool,
        served(pool) as sandbox,
        tutoring(MODEL, Sandbox(sandbox), settings) as tutors,
        connect(str(folder / "chats.db")) as transport,
        site(
            folder,
            admitting=guarded(folder),
            own=routes(tutors, transport, settings, EndpointRules()),
            datasets=str(datasets),
            adapters=str(datasets),
            evaluations=datasets,
        ) as at,
    ):
        yield at
