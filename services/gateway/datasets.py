"""Looks which runs have all their conversations in their datasets."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.manifest import UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy_services.gateway.runs import KnownRun

# The pause between two looks at the dataset of one run, which doubles while conversations are missing.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# Datasets looked at in one go: in an object store each look is a request.
MOST_LOOKS = 64


class DatasetLooks:
    def __init__(self, datasets: str | None) -> None:
        """`datasets` is the collector's folder or object store; None where the gateway does not see it."""
        self._datasets = datasets
        # For each run, the time of the next look, and the pause after it.
        self._next: dict[str, tuple[float, float]] = {}

    async def look(self, runs: Iterable[KnownRun]) -> list[str]:
        """Counts what the datasets of ended runs hold; returns the runs of which nothing is missing since."""
        due = list(islice(self._due(runs), MOST_LOOKS)) if self._datasets else []
        for known in due:
            known.stored = await asyncio.to_thread(stored, Storage(f"{self._datasets}/{known.id}"))
        return [known.id for known in due if known.is_stored]

    def _due(self, runs: Iterable[KnownRun]) -> Iterator[KnownRun]:
        now = time.monotonic()
        for known in runs:
            if not known.is_over or known.is_stored:
                self._next.pop(known.id, None)
                continue
            at, pause = self._next.get(known.id, (now, FIRST_PAUSE_SECONDS))
            if at <= now:
                self._next[known.id] = (now + pause, min(2 * pause, LONGEST_PAUSE_SECONDS))
                yield known


def stored(place: Storage) -> int:
    """Counts the conversations in a dataset; 0 for one that cannot be read, which a download explains."""
    try:
        manifest = read_manifest(place)
    except (OSError, UnreadableManifest):
        return 0
    return sum(shard.rows for shard in shards_of(manifest, ACCEPTED, REJECTED)) if manifest else 0
