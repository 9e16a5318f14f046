"""Reads how programs judged the student's answers, as the rules do."""

from collections import defaultdict
from functools import lru_cache

import numpy as np
import pyarrow.compute as pc

from soliloquy.dataset.columns import below
from soliloquy.recipes.verdicts import verdict
from soliloquy.runtime.arrow import pa
from soliloquy.v1.sandbox_pb2 import Execution, Items, NamedValue, Status, Value

# Remembered verdicts. Many programs say the same, since numbers are left out.
_REMEMBERED = 4096
# A value by its name: a truth value, a text, or the items of a list.
_Told = tuple[str, bool | None, str | None, tuple[bytes, ...] | None]


def verdicts(calculations: pa.Array) -> pa.Array:
    """Returns how the last program of each calculation judged the student's answer: "right", "wrong" or null."""
    attempts = pc.struct_field(calculations, "attempts")
    tries = np.asarray(pc.list_value_length(attempts).fill_null(0))
    last = pa.array(np.cumsum(tries) - 1, pa.int64(), mask=tries == 0)
    executions = below(attempts.flatten(), "execution").take(last)
    told = _told(pc.struct_field(executions, "values"))
    ran = pc.equal(pc.struct_field(executions, "status"), "STATUS_OK").to_pylist()
    printed = pc.struct_field(executions, "stdout").to_pylist()
    found = [
        _verdict(tuple(told[row]), (stdout or "").rpartition("\n")[2]) if is_ok else None
        for row, (is_ok, stdout) in enumerate(zip(ran, printed, strict=True))
    ]
    return pa.array(found, pa.string())


def _told(lists: pa.Array) -> dict[int, list[_Told]]:
    """Returns the values of each row that may be a verdict."""
    value = below(lists.flatten(), "value")
    booleans, texts, items = (pc.struct_field(value, kind) for kind in ("boolean", "text", "items"))
    may_tell = pc.or_(pc.or_(booleans.is_valid(), texts.is_valid()), items.is_valid())
    columns = (
        pc.list_parent_indices(lists),
        below(lists.flatten(), "name"),
        booleans,
        texts,
        pc.struct_field(items, "items"),
    )
    told = defaultdict[int, list[_Told]](list)
    for row, name, boolean, text, many in zip(*(one.filter(may_tell).to_pylist() for one in columns), strict=True):
        told[row].append((name, boolean, text, None if many is None else tuple(many)))
    return told


@lru_cache(maxsize=_REMEMBERED)
def _verdict(told: tuple[_Told, ...], printed: str) -> str | None:
    values = [NamedValue(name=name, value=_value(boolean, text, items)) for name, boolean, text, items in told]
    found = verdict(Execution(status=Status.STATUS_OK, values=values, stdout=printed))
    return None if found is None else "right" if found else "wrong"


def _value(boolean: bool | None, text: str | None, items: tuple[bytes, ...] | None) -> Value:
    if items is not None:
        return Value(items=Items(items=map(Value.FromString, items)))
    return Value(boolean=boolean) if text is None else Value(text=text)
