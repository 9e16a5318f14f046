"""The files of a batch: requests to send, and the lines of replies."""

import json
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.batch_api import CLOCK_SECONDS, BatchApi, FileBatch, Job, UploadedFile, read
from soliloquy.runtime.model.batch_queue import may_pass
from soliloquy.runtime.model.batch_table import ANSWERED, Batch, Line
from soliloquy.runtime.model.faults import InvalidAnswer
from soliloquy.runtime.model.openai_client import COMPLETIONS
from soliloquy.runtime.model.openai_format import completion_of, encoded, ended, error_words

_NOT_BEGUN = ("batch_expired", "batch_cancelled")


def line_of(told: Mapping[str, Any], model: str) -> Line | None:
    """Reads a line of a batch's replies; None if it says of no request what became of it."""
    request, response = told.get("custom_id"), told.get("response")
    if not isinstance(request, str):
        return None
    if not isinstance(response, dict) or not isinstance(status := response.get("status_code"), int):
        # The batch expired or was cancelled before it came to this one, or something else kept it from that.
        error = told.get("error")
        code = error.get("code") if isinstance(error, dict) else ""
        reply = encoded({"error": error})
        return Line(request=request, status=500, reply=reply, again=True, is_try=code not in _NOT_BEGUN)
    body = response.get("body")
    reply = encoded(body) if isinstance(body, dict) else str(body).encode()
    if status == ANSWERED:
        try:
            samples = max(1, len(json.loads(reply)["choices"]))
            answer = completion_of(reply, asked=model, samples=samples)
            return Line(request=request, status=status, reply=reply, completion=answer)
        except (InvalidAnswer, ValueError, KeyError, TypeError):
            return Line(request=request, status=status, reply=reply, again=True)
    if may_pass(status):
        return Line(request=request, status=status, reply=reply, again=True, is_try=status != 429)
    return Line(request=request, status=status, reply=reply, completion=ended(reply, model))


# The entry of a batch's metadata with our own name of it.
_OWN = "soliloquy_batch"
# A form with the purpose and the beginning of the file.
_FORM = (
    '--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    '--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
    "Content-Type: application/jsonl\r\n\r\n"
)


class FileBatches(BatchApi[FileBatch]):
    described = FileBatch
    path = "/batches"
    page = 100
    cursor = "after"

    async def upload(self, name: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> str:
        with tempfile.TemporaryFile(dir=folder) as file:
            # Our own form: that of aiohttp closes the file from a thread, at a time of its choosing.
            boundary = uuid.uuid4().hex
            file.write(_FORM.format(boundary=boundary, name=name).encode())
            for request, body in lines:
                head = json.dumps({"custom_id": request, "method": "POST", "url": f"/v1{COMPLETIONS}"})
                file.write(b"".join((head[:-1].encode(), b', "body": ', body, b"}\n")))
            file.write(f"\r\n--{boundary}--\r\n".encode())
            told = await self.send("/files", file, f"multipart/form-data; boundary={boundary}")
            return read(UploadedFile, told).id

    async def create(self, own: str, file: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> Job:
        body = {
            "input_file_id": file,
            "endpoint": f"/v1{COMPLETIONS}",
            "completion_window": "24h",
            "metadata": {_OWN: own},
        }
        return self.job(await self.call("POST", self.path, json=body))

    async def find(self, batch: Batch) -> list[Job]:
        """Returns the batches with our own name."""
        listed = self.listed(batch.created - CLOCK_SECONDS)
        return [self.job_of(entry) async for entry in listed if (entry.metadata or {}).get(_OWN) == batch.id]

    async def delete(self, file: str) -> None:
        await self.call("DELETE", f"/files/{file}")

    def lines(self, file: str) -> AsyncIterator[Mapping[str, Any]]:
        return self.objects(f"/files/{file}/content")

    def job_of(self, entry: FileBatch) -> Job:
        return Job(
            remote=entry.id,
            status=entry.status,
            files=tuple(filter(None, (entry.output_file_id, entry.error_file_id))),
            error=error_words(encoded({"error": entry.errors})) if entry.errors else "",
        )
