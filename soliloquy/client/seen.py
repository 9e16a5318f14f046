"""Remembers which conversations a tail has yielded, so that a reconnected tail repeats none and skips none."""

from collections.abc import AsyncIterator

from soliloquy.v1.gateway_pb2 import FinishedConversation

# Conversations are listed in the order of their arrival, which may differ by this much from the order of finishing.
_DISORDER_SECONDS = 60.0
_REMEMBERED = 10_000


class SeenConversations:
    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        # When the latest of them finished; None until the first listing, which only marks where the tail begins.
        self._latest: float | None = None

    def is_unseen(self, finished: FinishedConversation) -> bool:
        """Marks the conversation as seen."""
        if finished.id in self._ids:
            return False
        self._ids[finished.id] = None
        self._latest = max(self._latest or 0.0, finished.finished_at)
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]
        return True

    async def missed(self, listed: AsyncIterator[FinishedConversation]) -> list[FinishedConversation]:
        """Returns the unseen ones of a list that begins with the latest, oldest first; nothing for the first list."""
        is_first, since = self._latest is None, self._latest
        recent = []
        async for finished in listed:
            since = finished.finished_at if since is None else since
            if finished.finished_at < since - _DISORDER_SECONDS:
                break
            recent.append(finished)
        self._latest = self._latest or 0.0
        unseen = [finished for finished in reversed(recent) if self.is_unseen(finished)]
        return [] if is_first else unseen
