"""Opens the models that the settings name."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from soliloquy.runtime.model.accounting import Counted
from soliloquy.runtime.model.by_role import ByRole
from soliloquy.runtime.model.cache import AnswerCache, Cached
from soliloquy.runtime.model.key import key_of
from soliloquy.runtime.model.port import StreamingModel
from soliloquy.runtime.model.remote import Line, RemoteModel
from soliloquy.runtime.model.settings import Endpoint, Models


class OpenModels:
    """Answers every role; calls wait while their endpoint is gone."""

    def __init__(self, by_role: ByRole, remotes: list[RemoteModel]) -> None:
        self.generate = by_role.generate
        self._remotes = remotes

    @property
    def fault(self) -> str:
        """Why calls wait; empty while none do."""
        return "; ".join(remote.fault for remote in self._remotes if remote.fault)


@asynccontextmanager
async def opened(
    models: Models, scripted: Callable[[], StreamingModel], cache_folder: Path | None
) -> AsyncIterator[OpenModels]:
    """Raises BadModelSettings for a missing key."""
    answering: dict[str, StreamingModel] = {}
    remotes: list[RemoteModel] = []
    async with AsyncExitStack() as at_hand:
        cache = AnswerCache(cache_folder) if cache_folder else None
        if cache:
            at_hand.callback(cache.close)
        for name, endpoint in models.used.items():
            if endpoint.engine == "scripted":
                answering[name] = Counted(scripted(), name, endpoint)
                continue
            remote = RemoteModel(name, endpoint, line_to(name, endpoint))
            at_hand.push_async_callback(remote.close)
            remotes.append(remote)
            counted = Counted(remote, name, endpoint)
            answering[name] = Cached(counted, name, endpoint, cache) if cache else counted
        yield OpenModels(ByRole(models, answering), remotes)


def line_to(name: str, endpoint: Endpoint) -> Line:
    """Imports a client library only when an endpoint needs it."""
    if endpoint.engine == "ray":
        from soliloquy.runtime.model.ray_line import RayLine

        return RayLine(name, endpoint)
    from soliloquy.runtime.model.openai_line import OpenAILine

    return OpenAILine(name, endpoint, key_of(endpoint, name))
