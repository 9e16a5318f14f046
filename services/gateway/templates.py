"""Reads the file of templates: runs that people start by name, and those that start by themselves at set times."""

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cronsim import CronSim, CronSimError
from google.protobuf.json_format import ParseDict, ParseError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from soliloquy.runtime.failure import one_line
from soliloquy.runtime.validated_file import WatchedFile, read_model
from soliloquy.v1 import gateway_pb2 as api
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.access.tenants import sees
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.requests import LONGEST_NAME, validated

_FIELDS = 5


def _run(table: Any) -> RunRequest:
    try:
        request = RunRequest() if isinstance(table, RunRequest) else ParseDict(table, RunRequest())
        # Any id will do.
        return validated(api.StartRunRequest(request_id="template", request=request))
    except (Refusal, ParseError, TypeError) as error:
        raise ValueError(one_line(error)) from None


def _schedule(expression: str) -> str:
    fields = expression.split()
    try:
        if expression and (len(fields) != _FIELDS or next(CronSim(expression, datetime.now(UTC)), None) is None):
            raise CronSimError("it has not five fields, or no day is like this")
    except CronSimError as error:
        advice = "write minute, hour, day, month and weekday, such as 0 3 * * *"
        raise ValueError(f"{expression!r} is no schedule ({error}): {advice}") from None
    return expression


class Template(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    # Sees it, and has the runs of its schedule; "" shows it to all tenants, and those runs belong to the installation.
    tenant: str = ""
    # Minute, hour, day, month and weekday in UTC, as cron has them; empty for a run that people alone start.
    schedule: Annotated[str, AfterValidator(_schedule)] = ""
    run: Annotated[RunRequest, BeforeValidator(_run)]

    def next_after(self, moment: datetime) -> datetime:
        return next(CronSim(self.schedule, moment))


Name = Annotated[str, StringConstraints(pattern=rf"^[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}$")]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    template: dict[Name, Template] = Field(default_factory=dict)


def read_templates(file: Path) -> Mapping[str, Template]:
    """Raises Failure."""
    return read_model(file, tomllib.loads, _File).template


class Templates:
    def __init__(self, file: Path | None) -> None:
        self._file = WatchedFile(file, read_templates, "templates") if file else None

    @property
    def current(self) -> Mapping[str, Template]:
        return self._file.current if self._file else {}

    def applied(self, asked: api.StartRunRequest, tenant: str) -> api.StartRunRequest:
        """Returns the request with the settings of the template that it names, where it has none of its own."""
        if not asked.template:
            return asked
        if (found := self._seen_by(tenant).get(asked.template)) is None:
            raise Refusal(Code.UNKNOWN, f"there is no template {asked.template[:80]!r}: list the templates")
        request = RunRequest()
        request.CopyFrom(found.run)
        request.MergeFrom(asked.request)
        return api.StartRunRequest(request_id=asked.request_id, request=request)

    def listed(self, tenant: str) -> api.ListTemplatesResponse:
        now = datetime.now(UTC)
        return api.ListTemplatesResponse(
            templates=[
                api.Template(
                    name=name,
                    request=one.run,
                    schedule=one.schedule,
                    next_at=one.next_after(now).timestamp() if one.schedule else 0,
                )
                for name, one in self._seen_by(tenant).items()
            ]
        )

    def _seen_by(self, tenant: str) -> Mapping[str, Template]:
        """Templates that name no tenant are everybody's."""
        return {name: one for name, one in self.current.items() if not one.tenant or sees(tenant, one.tenant)}
