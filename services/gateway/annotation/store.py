"""Keeps annotation projects in the gateway's database. Its methods block, as those of the index do: `call` them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from soliloquy.annotation.scheme import Scheme
from soliloquy.runtime.seeds import digest
from soliloquy_services.gateway.access.tenants import sees
from soliloquy_services.gateway.annotation.messages import (
    AddAnnotation,
    AnnotationProject,
    AnnotationRows,
    DisputedItem,
    NextItem,
)
from soliloquy_services.gateway.annotation.results import DECIDED, FIRST, disputed, rows_of
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.participants import Participants
from soliloquy_services.gateway.refusals import Code, Refusal

# Somebody who leaves an item gives it back by then.
LEASE_SECONDS = 1_800.0


class Annotations:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._annotators = Participants(database, "A")
        self.call = database.call

    def add(self, asked: AddAnnotation, scheme: Scheme, tenant: str) -> str:
        """Returns the project's id: the same request makes one project."""
        project = digest("annotation", tenant, asked.model_dump_json())
        with self._database.writing() as connection:
            projects, items = self._database["annotation_projects"], self._database["annotation_items"]
            if connection.execute(select(projects.c.id).where(projects.c.id == project)).first():
                return project
            connection.execute(
                insert(projects).values(
                    id=project,
                    tenant=tenant,
                    name=asked.name,
                    scheme=scheme.model_dump_json(),
                    per_item=asked.annotators_per_item,
                    consent=asked.consent,
                    created=self._database.now(connection),
                )
            )
            rows = [
                {
                    "project": project,
                    "item": task.item,
                    "place": place,
                    "shown": json.dumps(task.shown, ensure_ascii=False),
                    "gold": json.dumps(task.gold) if task.gold else "",
                }
                for place, task in enumerate(asked.tasks)
            ]
            connection.execute(insert(items), rows)
        return project

    def projects(self, tenant: str, annotator: str) -> list[AnnotationProject]:
        """Lists the latest first."""
        table = self._database["annotation_projects"]
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created.desc(), table.c.id)).all()
            return [self._described(connection, row, annotator) for row in rows if sees(tenant, row.tenant)]

    def project(self, project: str, tenant: str, annotator: str) -> AnnotationProject:
        with self._database.reading() as connection:
            return self._described(connection, self._row(connection, project, tenant), annotator)

    def consent(self, project: str, tenant: str, annotator: str) -> None:
        with self._database.writing() as connection:
            self._row(connection, project, tenant)
            self._annotators.join(connection, project, annotator)

    def next(self, project: str, tenant: str, annotator: str) -> NextItem | None:
        """Gives an annotator the item that they have already, or the next one that needs an annotation."""
        with self._database.writing() as connection:
            return self._next(connection, self._row(connection, project, tenant), annotator)

    def annotate(
        self, project: str, tenant: str, annotator: str, item: str, values: Mapping[str, Any], seconds: float
    ) -> NextItem | None:
        """Keeps one's annotation of an item, in the place of an earlier one, and gives the next item."""
        with self._database.writing() as connection:
            row = self._row(connection, project, tenant)
            self._check(connection, row, item, values)
            leases = self._database["annotation_leases"]
            held = and_(leases.c.project == project, leases.c.item == item, leases.c.annotator == annotator)
            if not connection.execute(select(leases.c.until).where(held)).first():
                raise Refusal(
                    Code.NOT_NOW, f"the item {item[:80]!r} is not before this annotator: ask for the next one"
                )
            self._keep(connection, project, item, annotator, FIRST, values, seconds)
            return self._next(connection, row, annotator)

    def undo(self, project: str, tenant: str, annotator: str) -> NextItem | None:
        """Takes the annotator's latest annotation back, and puts its item before them again."""
        table = self._database["annotations"]
        own = and_(table.c.project == project, table.c.annotator == annotator, table.c.round == FIRST)
        with self._database.writing() as connection:
            row = self._row(connection, project, tenant)
            latest = connection.execute(select(table).where(own).order_by(table.c.at.desc())).first()
            if latest is None:
                return None
            connection.execute(delete(table).where(own, table.c.item == latest.item))
            self._count_again(connection, project, [latest.item], -1)
            # Whatever was before them goes back.
            self._release(connection, project, annotator)
            self._lease(connection, project, latest.item, annotator)
            items = self._database["annotation_items"]
            item = connection.execute(
                select(items).where(items.c.project == project, items.c.item == latest.item)
            ).one()
            return self._shown(connection, row, item, annotator, json.loads(latest.given))

    def disputed(self, project: str, tenant: str) -> DisputedItem | None:
        with self._database.reading() as connection:
            row, names = self._row(connection, project, tenant), self._annotators.pseudonyms(connection, project)
            return disputed(self._database, connection, row, names)

    def decide(
        self, project: str, tenant: str, adjudicator: str, item: str, values: Mapping[str, Any], seconds: float
    ) -> None:
        with self._database.writing() as connection:
            self._check(connection, self._row(connection, project, tenant), item, values)
            self._annotators.join(connection, project, adjudicator)
            self._keep(connection, project, item, adjudicator, DECIDED, values, seconds)

    def rows(self, project: str, tenant: str) -> AnnotationRows:
        with self._database.reading() as connection:
            row, names = self._row(connection, project, tenant), self._annotators.pseudonyms(connection, project)
            return rows_of(self._database, connection, row, names)

    def forget(self, annotator: str, tenant: str) -> int:
        """Deletes all that somebody has said in the tenant's projects, and who they are."""
        with self._database.writing() as connection:
            table = self._database["annotation_projects"]
            seen = [row.id for row in connection.execute(select(table)) if sees(tenant, row.tenant)]
            said = self._database["annotations"]
            own = said.c.annotator == annotator, said.c.project.in_(seen)
            rows = connection.execute(select(said).where(*own)).all()
            for key in seen:
                items = [row.item for row in rows if row.project == key and row.round == FIRST]
                self._count_again(connection, key, items, -1)
            for name in ("annotations", "annotation_leases"):
                of = self._database[name]
                connection.execute(delete(of).where(of.c.annotator == annotator, of.c.project.in_(seen)))
            self._annotators.forget(connection, seen, annotator)
            return len(rows)

    def _next(self, connection: Connection, row: Row[Any], annotator: str) -> NextItem | None:
        self._annotators.admit(connection, row.id, annotator, row.consent)
        item = self._held(connection, row.id, annotator) or self._needing(connection, row, annotator)
        if item is None:
            return None
        self._lease(connection, row.id, item.item, annotator)
        return self._shown(connection, row, item, annotator, {})

    def _row(self, connection: Connection, project: str, tenant: str) -> Row[Any]:
        table = self._database["annotation_projects"]
        row = connection.execute(select(table).where(table.c.id == project)).first()
        if row is None or not sees(tenant, row.tenant):
            raise Refusal(Code.UNKNOWN, f"there is no annotation project {project[:80]!r}")
        return row

    def _described(self, connection: Connection, row: Row[Any], annotator: str) -> AnnotationProject:
        items = self._database["annotation_items"]
        return AnnotationProject(
            id=row.id,
            name=row.name,
            scheme=Scheme.model_validate_json(row.scheme),
            annotators_per_item=row.per_item,
            consent=row.consent,
            consented=not row.consent or self._annotators.has_joined(connection, row.id, annotator),
            items=self._count(connection, items, items.c.project == row.id),
            complete=self._count(connection, items, items.c.project == row.id, items.c.times >= row.per_item),
            own=self._own(connection, row.id, annotator),
        )

    def _count(self, connection: Connection, table: Any, *where: Any) -> int:
        return int(connection.execute(select(func.count()).select_from(table).where(*where)).scalar_one())

    def _own(self, connection: Connection, project: str, annotator: str) -> int:
        said = self._database["annotations"]
        own = said.c.project == project, said.c.annotator == annotator, said.c.round == FIRST
        return self._count(connection, said, *own)

    def _held(self, connection: Connection, project: str, annotator: str) -> Row[Any] | None:
        """Returns the item that an annotator has before them and has not annotated."""
        items, leases = self._database["annotation_items"], self._database["annotation_leases"]
        return connection.execute(
            select(items)
            .join(leases, and_(leases.c.project == items.c.project, leases.c.item == items.c.item))
            .where(leases.c.project == project, leases.c.annotator == annotator, leases.c.until > 0)
            .order_by(leases.c.until.desc())
            .limit(1)
        ).first()

    def _needing(self, connection: Connection, row: Row[Any], annotator: str) -> Row[Any] | None:
        """Returns an item that the annotator has not seen: one that tests annotators, which everybody gets, or the
        fullest one that too few have or hold.
        """
        items, leases = self._database["annotation_items"], self._database["annotation_leases"]
        mine = select(leases.c.item).where(leases.c.project == row.id, leases.c.annotator == annotator)
        unseen = select(items).where(items.c.project == row.id, items.c.item.not_in(mine)).limit(1)
        if testing := connection.execute(unseen.where(items.c.gold > "").order_by(items.c.place)).first():
            return testing
        at_work = leases.c.project == row.id, leases.c.until > self._database.now(connection)
        held = select(leases.c.item, func.count().label("times")).where(*at_work).group_by(leases.c.item).subquery()
        return connection.execute(
            unseen.outerjoin(held, held.c.item == items.c.item)
            .where(items.c.times < row.per_item, items.c.times + func.coalesce(held.c.times, 0) < row.per_item)
            .order_by(items.c.times.desc(), items.c.place)
        ).first()

    def _shown(
        self, connection: Connection, row: Row[Any], item: Row[Any], annotator: str, values: Mapping[str, Any]
    ) -> NextItem:
        items = self._database["annotation_items"]
        return NextItem(
            item=item.item,
            shown=json.loads(item.shown),
            values=values,
            own=self._own(connection, row.id, annotator),
            items=self._count(connection, items, items.c.project == row.id),
        )

    def _lease(self, connection: Connection, project: str, item: str, annotator: str) -> None:
        table, until = self._database["annotation_leases"], self._database.now(connection) + LEASE_SECONDS
        held = table.c.project == project, table.c.item == item, table.c.annotator == annotator
        if not connection.execute(update(table).where(*held).values(until=until)).rowcount:
            values = {"project": project, "item": item, "annotator": annotator, "until": until}
            connection.execute(insert(table).values(values))

    def _release(self, connection: Connection, project: str, annotator: str) -> None:
        """Gives back what an annotator holds and has not annotated."""
        if held := self._held(connection, project, annotator):
            table = self._database["annotation_leases"]
            own = table.c.project == project, table.c.item == held.item, table.c.annotator == annotator
            connection.execute(delete(table).where(*own))

    def _check(self, connection: Connection, row: Row[Any], item: str, values: Mapping[str, Any]) -> None:
        items = self._database["annotation_items"]
        known = items.c.project == row.id, items.c.item == item
        if not connection.execute(select(items.c.place).where(*known)).first():
            raise Refusal(Code.UNKNOWN, f"the project has no item {item[:80]!r}")
        if fault := Scheme.model_validate_json(row.scheme).fault(values):
            raise Refusal(Code.INVALID, fault)

    def _keep(
        self,
        connection: Connection,
        project: str,
        item: str,
        annotator: str,
        turn: str,
        values: Mapping[str, Any],
        seconds: float,
    ) -> None:
        table, now = self._database["annotations"], self._database.now(connection)
        key = {"project": project, "item": item, "annotator": annotator, "round": turn}
        said = {"given": json.dumps(values, ensure_ascii=False), "seconds": seconds, "at": now}
        same = [table.c[name] == value for name, value in key.items()]
        if connection.execute(update(table).where(*same).values(said)).rowcount:
            return
        connection.execute(insert(table).values(key | said))
        if turn == FIRST:
            self._count_again(connection, project, [item], 1)
            leases = self._database["annotation_leases"]
            own = leases.c.project == project, leases.c.item == item, leases.c.annotator == annotator
            connection.execute(update(leases).where(*own).values(until=0))

    def _count_again(self, connection: Connection, project: str, names: Sequence[str], more: int) -> None:
        items = self._database["annotation_items"]
        known = items.c.project == project, items.c.item.in_(names)
        connection.execute(update(items).where(*known).values(times=items.c.times + more))
