"""A client of the stand-in for a hosted model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.remote import RemoteModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.model.fake import FakeServer

ENGINE = ScriptedEngine()


@asynccontextmanager
async def asking(fake: FakeServer, *, key: str = "", **settings: Any) -> AsyncIterator[RemoteModel]:
    """A client of the stand-in."""
    async with fake.serving("127.0.0.1:0") as url:
        endpoint = Endpoint(engine="openai", base_url=url, **{"model": "scripted", **settings})
        model = RemoteModel("fake", endpoint, OpenAIClient("fake", endpoint, Key(key, "OPENAI_API_KEY")))
        try:
            yield model
        finally:
            await model.close()
