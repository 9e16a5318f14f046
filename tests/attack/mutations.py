"""Hostile versions of real files, drawn from a grammar by a seed."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# What terminals obey, files cannot hold, and parsers stumble over.
CONTROLS = [
    "\x1b[2J",
    "\x1b]0;owned\x07",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\r",
    "\x00",
    "\x7f",
    "\x08",
    "\u200b",
    "\ufeff",
]
TEXTS = [
    *CONTROLS,
    "",
    " ",
    "../../../etc/passwd",
    "/dev/zero",
    "x" * 70_000,
    "\ud800",
    "NaN",
    "=cmd()",
    "[red]",
    "{x}",
    "%s",
]
NUMBERS = [-1, 0, 2**31, 2**63, -(2**63) - 1, 2**70, 10**400, 1e308, float("nan"), float("inf"), -0.0, 5e-324]
DEEP = 5_000


def hostile_value(draw: Random) -> Any:
    return draw.choice(
        [None, True, [], {}, [[]], {"": None}, draw.choice(TEXTS), draw.choice(NUMBERS), draw.choice(TEXTS)]
    )


def broken_bytes(content: bytes, draw: Random) -> bytes:
    made = bytearray(content)
    for _ in range(draw.randint(1, 6)):
        at, length = draw.randrange(len(made) + 1), draw.choice([1, 2, 8, 64, 4096])
        match draw.randrange(6):
            case 0:
                del made[at : at + length]
            case 1:
                made[at:at] = made[at : at + length]
            case 2:
                made[at:at] = bytes(length)
            case 3:
                made[at : at + 4] = draw.choice(
                    [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xc3\x28 \n"]
                )
            case 4 if at < len(made):
                made[at] ^= 1 << draw.randrange(8)
            case _:
                made[at:at] = draw.choice(TEXTS).encode("utf-8", "surrogatepass")
    return bytes(made)


def broken_json(value: Any, draw: Random) -> str:
    """Returns JSON text with a few of its values, names or brackets replaced."""
    made = copy.deepcopy(value)
    for _ in range(draw.randint(1, 3)):
        made = _replaced(made, draw)
    text = json.dumps(made, ensure_ascii=draw.random() < 0.5)
    match draw.randrange(12):
        case 0:
            return "[" * DEEP + text + "]" * DEEP
        case 1:
            return text.replace('":', '": ' + '{"a": ' * DEEP, 1)
        case 2 if text.startswith("{"):
            return '{"format": 2, ' + text[1:]
        case 3:
            return text[: draw.randrange(len(text) + 1)]
        case 4:
            return text + text
    return text


def _replaced(value: Any, draw: Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        match draw.randrange(8):
            case 0:
                del value[name]
            case 1:
                value[draw.choice(TEXTS)] = value.pop(name)
            case _:
                value[name] = _replaced(value[name], draw)
        return value
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        if draw.random() < 0.2:
            return value * 3
        value[at] = _replaced(value[at], draw)
        return value
    if isinstance(value, str) and draw.random() < 0.5:
        at = draw.randrange(len(value) + 1)
        return value[:at] + draw.choice(CONTROLS) + value[at:]
    return hostile_value(draw)


def broken_table(table: pa.Table, draw: Random) -> pa.Table:
    """Returns a table with a column missing, renamed, doubled, of another type or with other content."""
    name = draw.choice(table.column_names)
    at = table.column_names.index(name)
    match draw.randrange(9):
        case 0:
            return table.drop_columns([name])
        case 1:
            return table.rename_columns([draw.choice(TEXTS) if one == name else one for one in table.column_names])
        case 2:
            return table.append_column(name, table[name])
        case 3:
            other = draw.choice(
                [pa.int64(), pa.string(), pa.list_(pa.string()), pa.struct([("id", pa.int32())]), pa.binary()]
            )
            return table.set_column(at, name, pa.nulls(len(table), other))
        case 4:
            return table.replace_schema_metadata({b"recipe": draw.choice(TEXTS).encode("utf-8", "surrogatepass")})
        case 5:
            return table.replace_schema_metadata(None)
        case 6:
            return table.slice(0, draw.choice([0, 1]))
        case 7:
            return pa.concat_tables([table] * draw.choice([2, 30]))
    rows = json.loads(json.dumps(table.to_pylist(), default=str))
    changed = [_typed(row, table.schema, draw) for row in rows]
    return pa.Table.from_pylist(changed, schema=table.schema)


def _typed(row: dict[str, Any], schema: pa.Schema, draw: Random) -> dict[str, Any]:
    """Replaces values of a row by hostile ones of their own types."""

    def within(value: Any, kind: pa.DataType) -> Any:
        if value is None:
            return None
        if pa.types.is_struct(kind):
            return {field.name: within(value.get(field.name), field.type) for field in kind}
        if pa.types.is_list(kind):
            held = [within(item, kind.value_type) for item in value]
            return held if draw.random() < 0.95 else held * draw.choice([0, 2])
        if pa.types.is_binary(kind):
            return value.encode()
        if draw.random() > 0.15:
            return value
        if pa.types.is_string(kind):
            return draw.choice([one for one in TEXTS if one != "\ud800"])
        if pa.types.is_floating(kind):
            return draw.choice([0.0, -1.0, 1e308, float("nan"), float("inf"), 5e-324])
        if pa.types.is_unsigned_integer(kind):
            return draw.choice([0, 1, 2**32 - 1])
        if pa.types.is_integer(kind):
            return draw.choice([0, -1, 1, 2**31 - 1, -(2**31)])
        return value

    return {field.name: within(row[field.name], field.type) for field in schema}


def rewritten(path: Path, change: Callable[[pa.Table, Random], pa.Table], draw: Random) -> None:
    """Breaks the bytes of a file whose table cannot be written as it was drawn."""
    compression, rows = draw.choice(["zstd", "snappy", "none", "gzip"]), draw.choice([1, 3, 1000])
    content = path.read_bytes()
    try:
        pq.write_table(change(pq.read_table(path), draw), path, compression=compression, row_group_size=rows)
    except (pa.ArrowException, ValueError):
        path.write_bytes(broken_bytes(content, draw))


def broken_text(text: str, draw: Random) -> bytes:
    """Returns lines, of CSV or JSON, with others in their place, and in any encoding."""
    rows = text.splitlines(keepends=True)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(rows))
        place = draw.randrange(len(rows[at]) + 1)
        extra = draw.choice(
            [*TEXTS, '"', '""', ",", ";", "\t", "\n", "\r\n", "\\u0000", "\\ud800", "{", "[" * DEEP, '{"a":' * DEEP]
        )
        rows[at] = rows[at][:place] + extra + rows[at][place + draw.choice([0, 0, 1, 20]) :]
    made = "".join(rows)
    encoding = draw.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
    content = made.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
    return broken_bytes(content, draw) if draw.random() < 0.2 else content
