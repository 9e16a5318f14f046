"""The OpenAPI document: made of the routes and of the contract, so that it says what there is and nothing else."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from google.protobuf.descriptor import Descriptor
from pydantic import TypeAdapter
from starlette.responses import Response

from services.gateway.access.roles import ROLE_OF
from services.gateway.http.answers import TOO_SLOW, answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own, Route, Rpc
from services.gateway.http.schemas import Schema, Schemas
from services.gateway.http.session import COOKIE
from services.gateway.http.streams import Stream
from services.gateway.http.written import comments
from services.gateway.refusals import HTTP_STATUS, Code

PATH = "/openapi.json"
_BRACES = re.compile(r"\{(\w+)(?::\w+)?\}")
_JSON = "application/json"
_OF_ALL = (Code.INVALID, Code.UNAUTHENTICATED, Code.DENIED, Code.UNKNOWN, Code.TOO_MANY, Code.UNAVAILABLE)
_OF_STEERING = (Code.EXISTS, Code.TOO_LARGE)
_ERROR = {
    "type": "object",
    "description": "One sentence: what is wrong, with the value, and what to do.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": {"enum": [*Code, "failed"]}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


class Described:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._schemas = Schemas()
        paths: dict[str, Schema] = {}
        for route in routes:
            place = _BRACES.sub(r"{\1}", route.path)
            paths.setdefault(place, {})[route.method.lower()] = self._operation(route)
        self.document: Schema = {
            "openapi": "3.1.0",
            "info": {
                "title": "Soliloquy",
                "version": version("soliloquy"),
                "description": "Starts, shows and steers runs. The same as `RunService` over gRPC, as JSON.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": {**dict(sorted(self._schemas.found.items())), "Error": _ERROR},
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
                },
            },
        }

    def route(self) -> Own:
        async def look(_: Asked) -> Response:
            return answered(self.document)

        return Own(method="GET", path=PATH, action="", summary="This document.", handler=look)

    def _operation(self, route: Route) -> Schema:
        name, action = (route.name, route.name) if isinstance(route, Rpc) else (_called(route), route.action)
        summary = comments().get(f"RunService.{name}", "") if isinstance(route, Rpc) else route.summary
        body, refused = self._body(route), (*_OF_ALL, *(_OF_STEERING if route.method == "POST" else ()))
        statuses = {HTTP_STATUS[code] for code in refused} | ({TOO_SLOW} if route.method == "POST" else set())
        answers = {str(status): _response("Refused.", {"$ref": "#/components/schemas/Error"}) for status in statuses}
        return {
            "operationId": name,
            **({"summary": summary} if summary else {}),
            **({"description": f"Takes the role {ROLE_OF[action]}."} if action else {}),
            "security": [{"token": []}, {"session": []}, {}] if action else [{}],
            "parameters": self._parameters(route),
            **({"requestBody": {"content": {_JSON: {"schema": body}}}} if body else {}),
            "responses": {**self._answers(route), **answers},
        }

    def _parameters(self, route: Route) -> list[Schema]:
        in_path = _BRACES.findall(route.path)
        found = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path]
        if isinstance(route, Rpc) and route.method == "GET":
            fields = [field for field in route.asked.fields if field.name not in in_path]
            found += [{"name": field.name, "in": "query", "schema": self._schemas.field(field)} for field in fields]
        return found

    def _body(self, route: Route) -> Schema | None:
        if route.method != "POST":
            return None
        if isinstance(route, Own):
            return self._schema(route.body) if route.body else None
        in_path = _BRACES.findall(route.path)
        rest = [field for field in route.asked.fields if field.name not in in_path]
        return self._schemas.reference(route.asked) if len(rest) == len(route.asked.fields) else None

    def _answers(self, route: Route) -> Schema:
        if isinstance(route, Own):
            schema = self._schema(route.answer) if route.answer else {}
            return {str(route.status): _response("As it stands.", schema, route.media)}
        schema = self._schemas.reference(route.answered)
        if route.event:
            told = (
                f"Server-sent events called `{route.event}`, each with this as its data; `end` where no more will come."
            )
            return {"200": _response(told, schema, str(Stream.media_type))}
        there = {"200": _response("As it stands.", schema)}
        return {"201": _response("It was not there before.", schema), **there} if route.name == "StartRun" else there

    def _schema(self, kind: Any) -> Schema:
        """Of a message, or of what pydantic reads; its parts are named as they are in the code."""
        if isinstance(kind, Descriptor):
            return self._schemas.reference(kind)
        schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
        self._schemas.found.update(schema.pop("$defs", {}))
        return schema


def _response(description: str, schema: Schema, media: str = _JSON) -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}


def _called(route: Own) -> str:
    """The name of what has no action, of its method and path."""
    if route.action:
        return route.action
    return route.method.capitalize() + "".join(part.capitalize() for part in re.findall(r"\w+", route.path))
