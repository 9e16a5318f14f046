"""Keeps the parts of an imported row that an export would write differently, so that it writes them as they were."""

from typing import Any

from pydantic_core import to_json

from soliloquy.dataset.exports.format import ExportOptions, Format, Row

# Beside the fields of each format, `extra` holds the order of a row's fields, and single items of lists.
_ORDER, _ITEMS = "columns", "items"


def kept(row: Row, written: Row, name: str, form: Format) -> dict[str, Any]:
    """Returns what `extra` must hold so that `written` becomes `row`."""
    fields: dict[str, Any] = {}
    items: dict[str, Any] = {}
    for field, value in row.items():
        if field in form.made or (field in written and _same(written[field], value)):
            continue
        if field in form.listed and isinstance(value, list):
            items[field] = _differing(value, written.get(field))
        else:
            fields[field] = value
    extra = {name: fields, _ITEMS: {name: items} if items else {}}
    # Conversations of a format with messages may get fields of a problem file, which a row of theirs did not have.
    if form.listed or _own_fields(row, form) != _own_fields(written, form):
        extra[_ORDER] = {name: list(row)}
    return {key: value for key, value in extra.items() if value}


def _own_fields(row: Row, form: Format) -> list[str]:
    return [field for field in row if field not in form.made]


def rewritten(extra: dict[str, Any], name: str) -> int:
    """Returns the number of messages that are kept beside what was read of them."""
    return sum(map(len, extra.get(_ITEMS, {}).get(name, {}).values()))


def restored(row: Row | None, extra: dict[str, Any], name: str, choice: ExportOptions) -> Row | None:
    if name in extra:
        row = (row or {}) | extra[name]
    if row is None:
        return None
    # An item may hold what the choice leaves out.
    for field, items in extra.get(_ITEMS, {}).get(name, {}).items() if choice.all else ():
        row[field] = items if isinstance(items, list) else _with(items, row[field])
    order = extra.get(_ORDER, {}).get(name)
    return {field: row[field] for field in order} if order else row


def _with(kept_items: dict[str, Any], written: list[Any]) -> list[Any]:
    return [kept_items.get(str(number), item) for number, item in enumerate(written)]


def _differing(items: list[Any], written: Any) -> Any:
    """Returns the items that were written differently, by number; all of them if there are more or fewer."""
    if not isinstance(written, list) or len(items) != len(written):
        return items
    pairs = zip(items, written, strict=True)
    return {str(number): one for number, (one, other) in enumerate(pairs) if not _same(one, other)}


def _same(one: Any, other: Any) -> bool:
    return to_json(one) == to_json(other)
