"""Keeps the seats of teachers in the gateway's database. Its methods block, as those of the index do: `call` them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, or_, select, update

from soliloquy.runtime.events import run_key
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.access.tenants import seats_of, sees
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.teaching.messages import AddTeaching, State, TeachingProject

# A dialogue that its teacher has not touched for so long keeps its problem from nobody else.
ABANDONED_SECONDS = 86_400.0
_OVER = (State.DONE, State.UNFIT, State.LEFT)
_PROJECT_DIGITS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    id: str
    tenant: str
    name: str
    recipe: str
    asked: AddTeaching
    wanted: int

    @property
    def run(self) -> Run:
        """The run whose dataset holds the project's dialogues."""
        return Run(id=seats_of(self.tenant), growing=f"{self.recipe}-{self.id[:_PROJECT_DIGITS]}", recipe=self.recipe)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSeat:
    id: str
    project: Project
    teacher: str
    pseudonym: str
    state: State
    revision: int
    conversation: Conversation
    # Seconds since the last change, by the database's clock.
    age: float
    # The teacher's dialogues that are kept.
    own: int


class Seats:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.call = database.call

    def add(self, asked: AddTeaching, tenant: str) -> str:
        """Returns the project's id: the same request makes one project."""
        project = digest("teaching", tenant, asked.model_dump_json())
        table = self._database["teaching_projects"]
        with self._database.writing() as connection:
            if not connection.execute(select(table.c.id).where(table.c.id == project)).first():
                values = {
                    "id": project,
                    "tenant": tenant,
                    "name": asked.name,
                    "recipe": asked.recipe,
                    "problems": asked.model_dump_json(),
                    "wanted": len(asked.problems) or asked.dialogues,
                    "created": self._database.now(connection),
                }
                connection.execute(insert(table).values(values))
        return project

    def projects(self, tenant: str, teacher: str) -> list[TeachingProject]:
        """Lists the latest first."""
        table = self._database["teaching_projects"]
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created.desc(), table.c.id)).all()
            return [self._described(connection, row, teacher) for row in rows if sees(tenant, row.tenant)]

    def project(self, project: str, tenant: str, teacher: str) -> TeachingProject:
        with self._database.reading() as connection:
            return self._described(connection, self._row(connection, project, tenant), teacher)

    def take(
        self, project: str, tenant: str, teacher: str, begin: Callable[[Project, int], Conversation]
    ) -> StoredSeat | None:
        """Returns the teacher's seat that is not over, or another about the next problem; None if none is left."""
        seats = self._database["seats"]
        with self._database.writing() as connection:
            known = _project(self._row(connection, project, tenant))
            own = seats.c.project == project, seats.c.teacher == teacher, seats.c.state.not_in(_OVER)
            if held := connection.execute(select(seats).where(*own).order_by(seats.c.place)).first():
                return self._seat(connection, held, known)
            now = self._database.now(connection)
            place = connection.execute(
                select(func.coalesce(func.max(seats.c.place), -1) + 1).where(seats.c.project == project)
            ).scalar_one()
            if not self._is_wanted(connection, known, place, now):
                return None
            self._admit(connection, project, teacher)
            seat = digest("seat", project, place)
            values = {
                "id": seat,
                "project": project,
                "place": place,
                "teacher": teacher,
                "state": State.PREPARING,
                "revision": 0,
                "conversation": begin(known, place).SerializeToString(),
                "changed": now,
            }
            connection.execute(insert(seats).values(values))
            made = connection.execute(select(seats).where(seats.c.id == seat)).one()
            return self._seat(connection, made, known)

    def seat(self, seat: str, tenant: str, teacher: str) -> StoredSeat:
        seats = self._database["seats"]
        with self._database.reading() as connection:
            row = connection.execute(select(seats).where(seats.c.id == seat, seats.c.teacher == teacher)).first()
            unknown = Refusal(Code.UNKNOWN, f"there is no seat {seat[:80]!r} of this teacher: take one of a project")
            if row is None:
                raise unknown
            projects = self._database["teaching_projects"]
            project = connection.execute(select(projects).where(projects.c.id == row.project)).one()
            if not sees(tenant, project.tenant):
                raise unknown
            return self._seat(connection, row, _project(project))

    def change(self, seat: StoredSeat, state: State, conversation: Conversation) -> bool:
        """Commits a seat's next state; returns whether nobody else had changed it."""
        seats = self._database["seats"]
        with self._database.writing() as connection:
            values = {
                "state": state,
                "conversation": conversation.SerializeToString(),
                "revision": seat.revision + 1,
                "changed": self._database.now(connection),
            }
            same = seats.c.id == seat.id, seats.c.revision == seat.revision
            return bool(connection.execute(update(seats).where(*same).values(values)).rowcount)

    def _is_wanted(self, connection: Connection, project: Project, place: int, now: float) -> bool:
        """Whether another dialogue is wanted: own problems are taught once, and those of a bank as often as asked."""
        if project.asked.problems:
            return place < project.wanted
        seats = self._database["seats"]
        counts = or_(
            seats.c.state == State.DONE,
            seats.c.state.not_in(_OVER) & (seats.c.changed > now - ABANDONED_SECONDS),
        )
        taken = select(func.count()).select_from(seats).where(seats.c.project == project.id, counts)
        return int(connection.execute(taken).scalar_one()) < project.wanted

    def _row(self, connection: Connection, project: str, tenant: str) -> Row[Any]:
        table = self._database["teaching_projects"]
        row = connection.execute(select(table).where(table.c.id == project)).first()
        if row is None or not sees(tenant, row.tenant):
            raise Refusal(Code.UNKNOWN, f"there is no teaching project {project[:80]!r}")
        return row

    def _described(self, connection: Connection, row: Row[Any], teacher: str) -> TeachingProject:
        seats, project = self._database["seats"], _project(row)
        done = select(func.count()).select_from(seats).where(seats.c.project == row.id, seats.c.state == State.DONE)
        return TeachingProject(
            id=project.id,
            name=project.name,
            recipe=project.recipe,
            dialogues=project.wanted,
            done=connection.execute(done).scalar_one(),
            own=connection.execute(done.where(seats.c.teacher == teacher)).scalar_one(),
            run=run_key(project.run),
        )

    def _seat(self, connection: Connection, row: Row[Any], project: Project) -> StoredSeat:
        seats, teachers = self._database["seats"], self._database["teachers"]
        own = seats.c.project == row.project, seats.c.teacher == row.teacher, seats.c.state == State.DONE
        known = teachers.c.project == row.project, teachers.c.teacher == row.teacher
        return StoredSeat(
            id=row.id,
            project=project,
            teacher=row.teacher,
            pseudonym=connection.execute(select(teachers.c.pseudonym).where(*known)).scalar_one(),
            state=State(row.state),
            revision=row.revision,
            conversation=Conversation.FromString(row.conversation),
            age=self._database.now(connection) - row.changed,
            own=connection.execute(select(func.count()).select_from(seats).where(*own)).scalar_one(),
        )

    def _admit(self, connection: Connection, project: str, teacher: str) -> None:
        teachers = self._database["teachers"]
        known = connection.execute(select(teachers.c.teacher).where(teachers.c.project == project)).scalars().all()
        if teacher not in known:
            values = {"project": project, "teacher": teacher, "pseudonym": f"T{len(known) + 1}"}
            connection.execute(insert(teachers).values(values))


def _project(row: Row[Any]) -> Project:
    return Project(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        recipe=row.recipe,
        asked=AddTeaching.model_validate(json.loads(row.problems)),
        wanted=row.wanted,
    )
