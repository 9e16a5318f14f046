"""The conversations that are known, by their ids."""

from hashlib import blake2b


class IdSet:
    """A million take a tenth of a gigabyte: of each only a digest is kept, long enough to be the only one."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def add(self, conversation_id: str) -> bool:
        """False where it was known."""
        before = len(self._digests)
        self._digests.add(_digest(conversation_id))
        return len(self._digests) > before

    def __contains__(self, conversation_id: str) -> bool:
        return _digest(conversation_id) in self._digests


def _digest(conversation_id: str) -> bytes:
    return blake2b(conversation_id.encode(), digest_size=16).digest()
