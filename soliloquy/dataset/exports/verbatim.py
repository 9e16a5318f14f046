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


def restored(row: Row | None, extra: dict[str, Any], name: str, form: Format, choice: ExportOptions) -> Row | None:
    """Returns the row as it was imported; with a part left out, only the fields that cannot hold any of it."""
    fields, items, order = extra.get(name, {}), extra.get(_ITEMS, {}).get(name, {}), extra.get(_ORDER, {}).get(name)
    if row is None and not (choice.all and (fields or items)):
        return None
    whole = {**(row or {}), **{field: value for field, value in fields.items() if choice.all or field in form.always}}
    for field, kept_items in items.items() if choice.all else ():
        whole[field] = kept_items if isinstance(kept_items, list) else _with(kept_items, whole[field])
    return {field: whole[field] for field in order or whole if field in whole}


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
