"""Log lines: JSON for programs, text for people.

Each line names its run, conversation and trace. A line never contains dialogue: for an error it has the type and the
location but not the message, which may quote a student, a prompt or a key.
"""

import json
import logging
import math
import sys
import time
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from soliloquy.runtime.events import ConversationEvent, Event, RunEvent, Undecodable, message_of, run_of

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)
# A stage sets these for the lines that are logged while it works. Only this module reads them.
SERVICE: ContextVar[str] = ContextVar("service")
EVENT: ContextVar[Event | None] = ContextVar("event", default=None)
# A library writes one line of each cause in this time.
QUIET_SECONDS = 60.0
OURS = ("soliloquy", "soliloquy_papers", "soliloquy_services", "soliloquy_training")

Entry = dict[str, Any]


def set_up(service: str, style: str | None = None, level: int = logging.INFO) -> None:
    """Logs our own records from `level` on and warnings of libraries; as JSON unless stderr is a terminal."""
    style = style or (TEXT if sys.stderr.isatty() else JSON)
    root = logging.getLogger()
    for handler in [*root.handlers]:
        if isinstance(handler, _Lines):
            root.removeHandler(handler)
    root.addHandler(_Lines(service, style))
    root.setLevel(max(level, logging.WARNING))
    for name in OURS:
        logging.getLogger(name).setLevel(level)


def relay(line: bytes) -> bool:
    """Rewrites a worker's JSON log line in this process's format; returns False for any other line."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    if not isinstance(entry, dict) or not {"ts", "level", "message"} <= entry.keys():
        return False
    if logging.getLevelNamesMapping()[entry["level"].upper()] >= logging.getLogger(OURS[0]).level:
        for handler in logging.getLogger().handlers:
            if isinstance(handler, _Lines):
                handler.write(entry)
    return True


class _Lines(logging.Handler):
    def __init__(self, service: str, style: str) -> None:
        super().__init__()
        self._service = service
        self._style = style
        # When each cause of a library's lines was last written, and how many lines were left out since.
        self._written: dict[tuple[str, int], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._emit(record)
        except Exception:
            self.handleError(record)

    def _emit(self, record: logging.LogRecord) -> None:
        left_out = 0
        if record.name.partition(".")[0] not in OURS:
            # A library logs each of its attempts. Its place in the code is the cause: texts may name anything.
            cause = (record.pathname, record.lineno)
            written_at, left_out = self._written.get(cause, (-math.inf, 0))
            if (now := time.monotonic()) - written_at < QUIET_SECONDS:
                self._written[cause] = (written_at, left_out + 1)
                return
            self._written[cause] = (now, 0)
        self.write(_entry(record, self._service, left_out))

    def write(self, entry: Entry) -> None:
        line = json.dumps(entry, ensure_ascii=False, default=str) if self._style == JSON else _text(entry)
        try:
            # Look up sys.stderr each time: a progress bar replaces it.
            print(line, file=sys.stderr, flush=True)
        except BrokenPipeError:
            # The reader of the log is gone, but the work goes on.
            return


def _entry(record: logging.LogRecord, service: str, left_out: int) -> Entry:
    event = EVENT.get()
    fields = dict(getattr(record, "fields", {}))
    if record.name.partition(".")[0] not in OURS:
        fields["logger"] = record.name
    if left_out:
        fields["left_out"] = left_out
    if record.exc_info and record.exc_info[0]:
        kind, _, trace = record.exc_info
        fields["error"] = kind.__name__
        fields["at"] = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(trace)]
    return {
        "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "service": SERVICE.get(service),
        **(_subject(event) if event else {}),
        "message": record.getMessage(),
        **({"fields": fields} if fields else {}),
    }


def _subject(event: Event) -> Entry:
    """Returns the run, conversation and trace of an event, as far as it names them."""
    subject: Entry = {"trace": event.traceparent.split("-")[1]} if event.traceparent else {}
    try:
        message = message_of(event)
    except Undecodable:
        return subject
    assert isinstance(message, ConversationEvent | RunEvent)
    if isinstance(message, ConversationEvent):
        subject = {"conversation": message.conversation.id, **subject}
    return {"run": run_of(message).id, **subject}


def _text(entry: Entry) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(datetime.fromisoformat(entry["ts"]).timestamp()))
    level = "" if entry["level"] == "info" else f"{entry['level'].upper()} "
    attributes = {name: entry[name] for name in ("run", "conversation", "trace") if name in entry} | entry.get(
        "fields", {}
    )
    details = "".join(f" {name}={value}" for name, value in attributes.items())
    return f"{at} {level}{entry['service']}: {entry['message']}{details}"
