"""Names what a collector needs of its store, and opens either kind: folders, or tables."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import RunChanged, ServiceDescribed
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.collector.settings import LiveSettings


class Datasets(AbstractAsyncContextManager["Datasets"], Protocol):
    """A dataset for each execution of a run."""

    # The most conversations that are added at once.
    in_flight: int
    # The runs whose datasets have lost something.
    damaged: set[str]
    # Why nothing can be written; empty while it can.
    fault: str
    # The descriptions of services by their digests.
    services: dict[str, ServiceDescribed]
    # Names the log whose conversations are added; tables of another one are left alone.
    installation: str

    async def add(
        self, conversation: Conversation, faults: list[str], origin: Origin | None = None, lineage: str = ""
    ) -> None:
        """Returns once the conversation will not be lost with this process; one that is there is not added again."""

    async def holds(self, conversation: Conversation) -> bool: ...

    async def written(self, run: Run) -> int | None:
        """Counts the conversations that readers find; None while more are about to be."""

    async def record(self, changed: RunChanged) -> None:
        """Keeps the request and the state of a run with its dataset; removes the dataset of a run that is deleted."""

    def place(self, growing: str) -> object:
        """Returns where the dataset is, as a person reads it."""

    @property
    def unread(self) -> str:
        """A mark while all that the topics hold is to be read again, another one each time it is set; or empty."""

    async def mark_read(self, mark: str) -> None:
        """Removes the mark unless it was set again."""


def datasets_of(settings: LiveSettings) -> Datasets:
    if settings.in_tables:
        from soliloquy_services.collector.table_datasets import TableDatasets

        return TableDatasets(settings)
    from soliloquy_services.collector.live_datasets import LiveDatasets

    return LiveDatasets(settings)
