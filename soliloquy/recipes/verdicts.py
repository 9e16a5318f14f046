"""Reads a program's verdict on the student's answer from the values that it came to."""

import re
from collections.abc import Iterator

from soliloquy.runtime.files import table_beside
from soliloquy.v1.sandbox_pb2 import Execution, Status, Value

_WORDS = table_beside(__file__, "verdicts.toml")
_DENYING, _CONFIRMING, _BESIDE, _STUDENT = (
    re.compile("|".join(_WORDS[kind]), re.IGNORECASE) for kind in ("denying", "confirming", "beside", "student")
)
_SAID = {**dict.fromkeys(_WORDS["right"], True), **dict.fromkeys(_WORDS["wrong"], False)}


def verdict(execution: Execution) -> bool | None:
    """Returns whether the code found the student's answer right, all of it; None if it reached no verdict."""
    if execution.status != Status.STATUS_OK:
        return None
    named = [one for one in execution.values if not _BESIDE.search(one.name)]
    found = [told != bool(_DENYING.search(one.name)) for one in named for told in _verdicts(one.value, one.name)]
    if not found and not any(one.value.WhichOneof("kind") == "boolean" for one in named):
        # A program without a value for it may print its verdict.
        found = [*_said(execution.stdout.rpartition("\n")[2])]
    return all(found) if found else None


def is_of_student(name: str) -> bool:
    """Whether a value of this name is what the student came to."""
    return _STUDENT.search(name) is not None


def _verdicts(value: Value, name: str) -> Iterator[bool]:
    match value.WhichOneof("kind"):
        case "boolean" if _CONFIRMING.search(name) or _DENYING.search(name):
            yield value.boolean
        case "text":
            yield from _said(value.text)
        case "items":
            for item in value.items.items:
                yield from _verdicts(item, name)


def _said(text: str) -> Iterator[bool]:
    if (told := _SAID.get(text.strip().strip(".!").casefold())) is not None:
        yield told
