"""A set of ids in little memory."""

from hashlib import blake2b


class IdSet:
    """Keeps a digest of each id, long enough to be unique: a million ids take 100 MB."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def add(self, conversation_id: str) -> bool:
        """Returns whether the id is new."""
        before = len(self._digests)
        self._digests.add(_digest(conversation_id))
        return len(self._digests) > before

    def __contains__(self, conversation_id: str) -> bool:
        return _digest(conversation_id) in self._digests


def _digest(conversation_id: str) -> bytes:
    return blake2b(conversation_id.encode(), digest_size=16).digest()
