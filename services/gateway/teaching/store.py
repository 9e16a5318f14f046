"""Keeps the seats of teachers in the gateway's database. Its methods block, as those of the index do: `call` them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from soliloquy.runtime.events import run_key
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.access.tenants import seats_of, sees
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.participants import Participants
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
        self._teachers = Participants(database, "T")
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

    def consent(self, project: str, tenant: str, teacher: str) -> None:
        with self._database.writing() as connection:
            self._row(connection, project, tenant)
            self._teachers.join(connection, project, teacher)

    def take(
        self, project: str, tenant: str, teacher: str, begin: Callable[[Project, int, int], Conversation]
    ) -> StoredSeat | None:
        """Returns the teacher's seat that is not over, or another about the next problem; None if none is left."""
        seats = self._database["seats"]
        with self._database.writing() as connection:
            known = _project(self._row(connection, project, tenant))
            self._teachers.admit(connection, project, teacher, known.asked.consent)
            own = seats.c.project == project, seats.c.teacher == teacher, seats.c.state.not_in(_OVER)
            if held := connection.execute(select(seats).where(*own).order_by(seats.c.place)).first():
                return self._seat(connection, held, known)
            now = self._database.now(connection)
            place = connection.execute(
                select(func.coalesce(func.max(seats.c.place), -1) + 1).where(seats.c.project == project)
            ).scalar_one()
            problem = self._next_problem(connection, known, teacher, now)
            if problem is None:
                return None
            seat = digest("seat", project, place)
            values = {
                "id": seat,
                "project": project,
                "place": place,
                "problem": problem,
                "teacher": teacher,
                "state": State.PREPARING,
                "revision": 0,
                "conversation": begin(known, place, problem).SerializeToString(),
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

    def forget(self, teacher: str, tenant: str) -> list[StoredSeat]:
        """Deletes the dialogues of a teacher in the tenant's projects, and who they are; returns what was there."""
        projects, seats = self._database["teaching_projects"], self._database["seats"]
        with self._database.writing() as connection:
            seen = {row.id: row for row in connection.execute(select(projects)) if sees(tenant, row.tenant)}
            own = seats.c.teacher == teacher, seats.c.project.in_(seen)
            rows = connection.execute(select(seats).where(*own)).all()
            found = [self._seat(connection, row, _project(seen[row.project])) for row in rows]
            # Its place stays taken: the ids of seats and conversations follow from it.
            gone = {"teacher": "", "conversation": b"", "state": State.LEFT, "revision": seats.c.revision + 1}
            connection.execute(update(seats).where(*own).values(gone))
            self._teachers.forget(connection, seen, teacher)
            return found

    def _next_problem(self, connection: Connection, project: Project, teacher: str, now: float) -> int | None:
        """Returns a problem for a teacher, one that others have left before a fresh one; None if none is wanted."""
        seats = self._database["seats"]
        of_project = seats.c.project == project.id
        at_work = seats.c.state.not_in(_OVER) & (seats.c.changed > now - ABANDONED_SECONDS)
        counted = select(func.count()).where(of_project, at_work | (seats.c.state == State.DONE))
        if connection.execute(counted).scalar_one() >= project.wanted:
            return None
        is_over = at_work | seats.c.state.in_((State.DONE, State.UNFIT)) | (seats.c.teacher == teacher)
        barred = select(seats.c.problem).where(of_project, is_over)
        left = select(func.min(seats.c.problem)).where(of_project, seats.c.problem.not_in(barred))
        fresh = select(func.coalesce(func.max(seats.c.problem), -1) + 1).where(of_project)
        problem = int(
            connection.execute(select(func.coalesce(left.scalar_subquery(), fresh.scalar_subquery()))).scalar_one()
        )
        return None if project.asked.problems and problem >= project.wanted else problem

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
            consent=project.asked.consent,
            consented=not project.asked.consent or self._teachers.has_joined(connection, row.id, teacher),
        )

    def _seat(self, connection: Connection, row: Row[Any], project: Project) -> StoredSeat:
        seats = self._database["seats"]
        own = seats.c.project == row.project, seats.c.teacher == row.teacher, seats.c.state == State.DONE
        return StoredSeat(
            id=row.id,
            project=project,
            teacher=row.teacher,
            pseudonym=self._teachers.pseudonyms(connection, row.project)[row.teacher],
            state=State(row.state),
            revision=row.revision,
            conversation=Conversation.FromString(row.conversation),
            age=self._database.now(connection) - row.changed,
            own=connection.execute(select(func.count()).select_from(seats).where(*own)).scalar_one(),
        )


def _project(row: Row[Any]) -> Project:
    return Project(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        recipe=row.recipe,
        asked=AddTeaching.model_validate(json.loads(row.problems)),
        wanted=row.wanted,
    )
