"""The HTTP routes of the teacher's seat."""

from collections.abc import Awaitable
from typing import TypeVar

from soliloquy_services.gateway.http.parsing import parse_body
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.teaching.messages import (
    AddTeaching,
    Calculate,
    Compare,
    ForgottenTeacher,
    RateStudent,
    SeatView,
    Teach,
    TeachingProject,
    TeachingProjects,
)
from soliloquy_services.gateway.teaching.teaching import Teaching

_MOST_BYTES = 32 * 1024**2
T = TypeVar("T")


class TeachingRoutes:
    def __init__(self, teaching: Teaching, *, lasting: bool) -> None:
        """`lasting` says that the database outlives the gateway."""
        self._teaching = teaching
        self._lasting = lasting

    def all(self) -> tuple[HttpRoute, ...]:
        projects, one, seat = "/v1/teaching/projects", "/v1/teaching/projects/{project}", "/v1/teaching/seats/{id}"
        return (
            HttpRoute("GET", projects, "ListTeaching", self._list, answer=TeachingProjects),
            HttpRoute("POST", projects, "AddTeaching", self._add, AddTeaching, TeachingProject, statuses=(201,)),
            HttpRoute("GET", one, "GetTeaching", self._project, answer=TeachingProject),
            HttpRoute("POST", f"{one}/consent", "ConsentToTeaching", self._consent, answer=TeachingProject),
            HttpRoute("POST", f"{one}/next", "NextSeat", self._next, answer=SeatView),
            HttpRoute("GET", seat, "GetSeat", self._show, answer=SeatView),
            HttpRoute("POST", f"{seat}/comparison", "CompareSolutions", self._compare, Compare, SeatView),
            HttpRoute("POST", f"{seat}/programs", "Calculate", self._calculate, Calculate, SeatView),
            HttpRoute("POST", f"{seat}/messages", "Teach", self._say, Teach, SeatView),
            HttpRoute("POST", f"{seat}/end", "EndSeat", self._end, answer=SeatView),
            HttpRoute("POST", f"{seat}/leave", "LeaveSeat", self._leave, answer=SeatView),
            HttpRoute("POST", f"{seat}/answers", "RateStudent", self._rate, RateStudent, SeatView),
            HttpRoute(
                "DELETE", "/v1/teaching/teachers/{teacher}", "ForgetTeacher", self._forget, answer=ForgottenTeacher
            ),
        )

    async def _list(self, _: RequestContext) -> TeachingProjects:
        """The projects for teachers, the latest first."""
        return TeachingProjects(projects=await _bounded(self._teaching.projects()))

    async def _add(self, context: RequestContext) -> TeachingProject:
        """Add a project for teachers. The same request makes one project."""
        asked = parse_body(AddTeaching, await context.body(_MOST_BYTES))
        context.audit.target = asked.name
        if not self._lasting:
            raise Refusal(Code.NOT_NOW, "this gateway forgets dialogues when it stops: start it with --database URL")
        return await _bounded(self._teaching.add(asked))

    async def _project(self, context: RequestContext) -> TeachingProject:
        """A project, and how far it is."""
        return await _bounded(self._teaching.project(context.path_parameter("project")))

    async def _consent(self, context: RequestContext) -> TeachingProject:
        """Agree to the project's terms."""
        project = context.audit.target = context.path_parameter("project")
        return await _bounded(self._teaching.consent(project))

    async def _next(self, context: RequestContext) -> SeatView:
        """The caller's seat, or one before the next problem; without an id where none is left."""
        return await _bounded(self._teaching.next(context.path_parameter("project")))

    async def _show(self, context: RequestContext) -> SeatView:
        """A seat of the caller as it stands."""
        return await _bounded(self._teaching.show(context.path_parameter("id")))

    async def _compare(self, context: RequestContext) -> SeatView:
        """Mark the first wrong line of the student's solution, and say what is wrong."""
        given = parse_body(Compare, await context.body())
        return await _bounded(self._teaching.compare(context.path_parameter("id"), given))

    async def _calculate(self, context: RequestContext) -> SeatView:
        """Run Python, or an expression, in the sandbox before the next message; the answer has the output."""
        given = parse_body(Calculate, await context.body())
        return await _bounded(self._teaching.calculate(context.path_parameter("id"), given))

    async def _say(self, context: RequestContext) -> SeatView:
        """Send a message to the student. With warnings in the answer it was not sent: send it with `anyway`."""
        given = parse_body(Teach, await context.body())
        return await _bounded(self._teaching.say(context.path_parameter("id"), given))

    async def _end(self, context: RequestContext) -> SeatView:
        """End the dialogue; the questions follow."""
        return await _bounded(self._teaching.end(context.path_parameter("id")))

    async def _leave(self, context: RequestContext) -> SeatView:
        """Give the problem up; nothing of its dialogue is kept."""
        seat = context.audit.target = context.path_parameter("id")
        return await _bounded(self._teaching.leave(seat))

    async def _rate(self, context: RequestContext) -> SeatView:
        """Answer the questions about the student; the dialogue is kept with the answers."""
        given = parse_body(RateStudent, await context.body())
        return await _bounded(self._teaching.rate(context.path_parameter("id"), given))

    async def _forget(self, context: RequestContext) -> ForgottenTeacher:
        """Delete the dialogues of a teacher, and whose pseudonym is theirs; the answer names those in datasets."""
        teacher = context.audit.target = context.path_parameter("teacher")
        return await _bounded(self._teaching.forget(teacher))


async def _bounded(answer: Awaitable[T]) -> T:
    async with answered():
        return await answer
