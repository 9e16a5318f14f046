"""The HTTP routes of annotation."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from soliloquy.annotation.scheme import Scheme, schemes
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.annotation.messages import (
    AddAnnotation,
    Annotate,
    AnnotationProject,
    AnnotationProjects,
    AnnotationRows,
    DisputedItem,
    Forgotten,
    NextItem,
)
from soliloquy_services.gateway.annotation.store import Annotations
from soliloquy_services.gateway.http.parsing import parse_body
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.service import Gateway

MOST_BYTES = 32 * 1024**2
# Everybody on this machine is one annotator where no token is required.
_SOMEBODY = "somebody"
_NOTHING_LEFT = NextItem(item="", shown={}, values={}, own=0, items=0)
_NO_DISPUTE = DisputedItem(item="", shown={}, given={}, left=0)

P = ParamSpec("P")
T = TypeVar("T")


class AnnotationRoutes:
    def __init__(self, gateway: Gateway, *, lasting: bool) -> None:
        """`lasting` says that the database outlives the gateway."""
        self._gateway = gateway
        self._lasting = lasting

    @property
    def _annotations(self) -> Annotations:
        return Annotations(self._gateway.database)

    def all(self) -> tuple[HttpRoute, ...]:
        projects, one = "/v1/annotation/projects", "/v1/annotation/projects/{project}"
        return (
            HttpRoute("GET", projects, "ListAnnotation", self._list, answer=AnnotationProjects),
            HttpRoute("POST", projects, "AddAnnotation", self._add, AddAnnotation, AnnotationProject, statuses=(201,)),
            HttpRoute("GET", one, "GetAnnotation", self._show, answer=AnnotationProject),
            HttpRoute("POST", f"{one}/consent", "ConsentToAnnotation", self._consent, answer=AnnotationProject),
            HttpRoute("POST", f"{one}/next", "NextAnnotation", self._next, answer=NextItem),
            HttpRoute("POST", f"{one}/annotations", "Annotate", self._annotate, Annotate, NextItem),
            HttpRoute("POST", f"{one}/undo", "UndoAnnotation", self._undo, answer=NextItem),
            HttpRoute("GET", f"{one}/disputed", "GetDispute", self._disputed, answer=DisputedItem),
            HttpRoute("POST", f"{one}/decisions", "Adjudicate", self._decide, Annotate, DisputedItem),
            HttpRoute("GET", f"{one}/annotations", "ExportAnnotations", self._export, answer=AnnotationRows),
            HttpRoute(
                "DELETE", "/v1/annotation/annotators/{annotator}", "ForgetAnnotator", self._forget, answer=Forgotten
            ),
        )

    async def _list(self, _: RequestContext) -> AnnotationProjects:
        """The annotation projects, the latest first."""
        found = await self._call(self._annotations.projects, TENANT.get(), _caller())
        return AnnotationProjects(projects=found)

    async def _add(self, context: RequestContext) -> AnnotationProject:
        """Add a project. The same request makes one project."""
        asked = parse_body(AddAnnotation, await context.body(MOST_BYTES))
        context.audit.target = asked.name
        if not self._lasting:
            raise Refusal(Code.NOT_NOW, "this gateway forgets annotations when it stops: start it with --database URL")
        scheme = _scheme(asked)
        project = await self._call(self._annotations.add, asked, scheme, TENANT.get())
        return await self._call(self._annotations.project, project, TENANT.get(), _caller())

    async def _show(self, context: RequestContext) -> AnnotationProject:
        """A project with its scheme, and how far it is."""
        return await self._call(self._annotations.project, *_who(context))

    async def _consent(self, context: RequestContext) -> AnnotationProject:
        """Agree to the project's terms."""
        context.audit.target = context.path_parameter("project")
        await self._call(self._annotations.consent, *_who(context))
        return await self._call(self._annotations.project, *_who(context))

    async def _next(self, context: RequestContext) -> NextItem:
        """The item before the caller, or the next one; an empty item where none is left."""
        return await self._call(self._annotations.next, *_who(context)) or _NOTHING_LEFT

    async def _annotate(self, context: RequestContext) -> NextItem:
        """Keep an annotation, and answer with the next item. Sent again, it takes the place of the former."""
        given = parse_body(Annotate, await context.body())
        said = (given.item, given.values, given.seconds)
        return await self._call(self._annotations.annotate, *_who(context), *said) or _NOTHING_LEFT

    async def _undo(self, context: RequestContext) -> NextItem:
        """Take the caller's latest annotation back, and answer with its item and values."""
        return await self._call(self._annotations.undo, *_who(context)) or _NOTHING_LEFT

    async def _disputed(self, context: RequestContext) -> DisputedItem:
        """An item whose annotators disagree, with what each said; an empty item where none is left."""
        project = context.path_parameter("project")
        return await self._call(self._annotations.disputed, project, TENANT.get()) or _NO_DISPUTE

    async def _decide(self, context: RequestContext) -> DisputedItem:
        """Decide an item, and answer with the next one that is disputed."""
        given = parse_body(Annotate, await context.body())
        said = (given.item, given.values, given.seconds)
        await self._call(self._annotations.decide, *_who(context), *said)
        return await self._disputed(context)

    async def _export(self, context: RequestContext) -> AnnotationRows:
        """All annotations under pseudonyms, and how the annotators did on items whose values are known."""
        project = context.path_parameter("project")
        return await self._call(self._annotations.rows, project, TENANT.get())

    async def _forget(self, context: RequestContext) -> Forgotten:
        """Delete all that an annotator has said, and their pseudonyms."""
        annotator = context.audit.target = context.path_parameter("annotator")
        return Forgotten(annotations=await self._call(self._annotations.forget, annotator, TENANT.get()))

    async def _call(self, job: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        async with answered():
            return await self._annotations.call(job, *args, **options)


def _caller() -> str:
    return CALLER.get() or _SOMEBODY


def _who(context: RequestContext) -> tuple[str, str, str]:
    return context.path_parameter("project"), TENANT.get(), _caller()


def _scheme(asked: AddAnnotation) -> Scheme:
    scheme = schemes().get(asked.scheme) if isinstance(asked.scheme, str) else asked.scheme
    if scheme is None:
        raise Refusal(Code.INVALID, f"scheme: there is no {str(asked.scheme)[:80]!r}: use {', '.join(schemes())}")
    if len({task.item for task in asked.tasks}) < len(asked.tasks):
        raise Refusal(Code.INVALID, "tasks: two have the same item")
    for task in asked.tasks:
        if task.gold and (fault := scheme.fault(task.gold)):
            raise Refusal(Code.INVALID, f"tasks: the gold values of {task.item!r}: {fault}")
    return scheme
