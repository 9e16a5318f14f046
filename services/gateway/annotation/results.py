"""Reads what annotators have said of a project: the disputes, and the rows for agreement."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from soliloquy.annotation.scheme import Scheme
from soliloquy_services.gateway.annotation.messages import AnnotationRow, AnnotationRows, DisputedItem
from soliloquy_services.gateway.database import Database

FIRST, DECIDED = "annotation", "adjudication"


def disputed(
    database: Database, connection: Connection, project: Row[Any], names: Mapping[str, str]
) -> DisputedItem | None:
    """Returns the first item whose annotators disagree, while nobody has decided it; `names` has pseudonyms."""
    scheme = Scheme.model_validate_json(project.scheme)
    decisive = [one.name for one in scheme.questions if one.kind in ("label", "scale")]
    by_item = _given(database, connection, project.id)
    disputes = [
        item
        for item, given in by_item.items()
        if DECIDED not in {one.round for one in given}
        and len(given) >= project.per_item
        and any(len({str(json.loads(one.given).get(name)) for one in given}) > 1 for name in decisive)
    ]
    if not disputes:
        return None
    items = database["annotation_items"]
    of_project = items.c.project == project.id, items.c.item.in_(disputes)
    first = connection.execute(select(items).where(*of_project).order_by(items.c.place)).first()
    assert first
    given = {names[one.annotator]: json.loads(one.given) for one in by_item[first.item]}
    return DisputedItem(item=first.item, shown=json.loads(first.shown), given=given, left=len(disputes))


def rows_of(database: Database, connection: Connection, project: Row[Any], names: Mapping[str, str]) -> AnnotationRows:
    """Returns all annotations under pseudonyms."""
    scheme = Scheme.model_validate_json(project.scheme)
    rows = [
        AnnotationRow(
            item=one.item,
            annotator=names[one.annotator],
            scheme=scheme.name,
            values=json.loads(one.given),
            seconds=one.seconds,
            at=one.at,
            round=one.round,
        )
        for given in _given(database, connection, project.id).values()
        for one in given
    ]
    return AnnotationRows(annotations=rows, gold=_gold(database, connection, project.id, rows))


def _given(database: Database, connection: Connection, project: str) -> dict[str, list[Row[Any]]]:
    table = database["annotations"]
    found: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(select(table).where(table.c.project == project).order_by(table.c.at)):
        found.setdefault(row.item, []).append(row)
    return found


def _gold(database: Database, connection: Connection, project: str, rows: Sequence[AnnotationRow]) -> dict[str, float]:
    """Returns the share of right values in the items that test annotators, by pseudonym."""
    items = database["annotation_items"]
    known = connection.execute(select(items).where(items.c.project == project, items.c.gold != ""))
    right = {row.item: json.loads(row.gold) for row in known}
    hits: dict[str, list[bool]] = {}
    for row in rows:
        if row.round == FIRST:
            hits.setdefault(row.annotator, []).extend(
                row.values.get(name) == value for name, value in right.get(row.item, {}).items()
            )
    return {name: sum(of) / len(of) for name, of in sorted(hits.items()) if of}
