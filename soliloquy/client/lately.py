"""Which conversations a tail has told of, so that one that is taken up again tells none twice and leaves none out."""

from collections.abc import AsyncIterator

from soliloquy.v1.gateway_pb2 import FinishedConversation

# They are listed and told of as they are heard of, which is nearly as they finished.
_DISORDER_SECONDS = 60.0
_REMEMBERED = 10_000


class Lately:
    def __init__(self) -> None:
        self._told: dict[str, None] = {}
        # When the latest of them finished; None until it is known what was there before.
        self._latest: float | None = None

    def is_news(self, finished: FinishedConversation) -> bool:
        if finished.id in self._told:
            return False
        self._told[finished.id] = None
        self._latest = max(self._latest or 0.0, finished.finished_at)
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
        return True

    async def missed(self, listed: AsyncIterator[FinishedConversation]) -> list[FinishedConversation]:
        """Those that nobody was told of, of a list whose latest is first; none of those that were there before."""
        first, since = self._latest is None, self._latest
        found = []
        async for finished in listed:
            since = finished.finished_at if since is None else since
            if finished.finished_at < since - _DISORDER_SECONDS:
                break
            found.append(finished)
        self._latest = self._latest or 0.0
        news = [finished for finished in reversed(found) if self.is_news(finished)]
        return [] if first else news
