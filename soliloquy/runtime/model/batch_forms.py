"""Batches as the APIs of OpenAI and Anthropic describe them: a client reads them, and the stand-in writes them."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

# OpenAI's statuses of a batch that the endpoint does not work on any more.
OVER = frozenset({"completed", "expired", "cancelled", "failed"})


class FileBatch(BaseModel):
    """A batch of OpenAI's form, made of a file."""

    id: str
    status: str
    created_at: float = 0.0
    metadata: dict[str, Any] | None = None
    request_counts: dict[str, int] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    # Why the endpoint did not begin with it.
    errors: Any = None

    @property
    def made(self) -> float:
        return self.created_at


class MessageBatch(BaseModel):
    """A batch of Anthropic's form, made of its requests."""

    id: str
    processing_status: str
    created_at: datetime
    request_counts: dict[str, int]
    results_url: str | None = None

    @property
    def made(self) -> float:
        return self.created_at.timestamp()

    @property
    def has_ended(self) -> bool:
        return self.processing_status == "ended"


class BatchPage(BaseModel):
    """A page of the list of batches, newest first."""

    data: list[Any]
    has_more: bool = False


class UploadedFile(BaseModel):
    """A file that a batch of OpenAI's form is made of."""

    id: str
