"""The OpenAPI document, generated from the routes and the contract."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from google.protobuf.descriptor import Descriptor
from pydantic import TypeAdapter
from starlette.responses import Response

from services.gateway.access.roles import ROLE_OF
from services.gateway.http.context import RequestContext
from services.gateway.http.responses import REQUEST_TIMEOUT, json_response
from services.gateway.http.routes import HttpRoute, Route, RpcRoute
from services.gateway.http.schemas import Schema, Schemas, comments
from services.gateway.http.session import COOKIE
from services.gateway.http.streams import Stream
from services.gateway.refusals import HTTP_STATUS, Code

PATH = "/openapi.json"
_BRACES = re.compile(r"\{(\w+)(?::\w+)?\}")
_JSON = "application/json"
_ANY_CODES = (Code.INVALID, Code.UNAUTHENTICATED, Code.DENIED, Code.UNKNOWN, Code.TOO_MANY, Code.UNAVAILABLE)
_POST_CODES = (Code.EXISTS, Code.TOO_LARGE)
_ERROR = {
    "type": "object",
    "description": "One sentence that says what is wrong, with the value, and what to do.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": {"enum": [*Code, "failed"]}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


class OpenApiDocument:
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
                "description": "Starts, shows and steers runs: `RunService` as JSON.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": {**dict(sorted(self._schemas.referenced.items())), "Error": _ERROR},
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
                },
            },
        }

    def route(self) -> HttpRoute:
        async def show(_: RequestContext) -> Response:
            return json_response(self.document)

        return HttpRoute("GET", PATH, "", "This document.", show)

    def _operation(self, route: Route) -> Schema:
        name, action = (route.name, route.name) if isinstance(route, RpcRoute) else (_operation_id(route), route.action)
        summary = comments().get(f"RunService.{name}", "") if isinstance(route, RpcRoute) else route.summary
        body, codes = self._body(route), (*_ANY_CODES, *(_POST_CODES if route.method == "POST" else ()))
        statuses = {HTTP_STATUS[code] for code in codes} | ({REQUEST_TIMEOUT} if route.method == "POST" else set())
        answers = {str(status): _response("Refused.", {"$ref": "#/components/schemas/Error"}) for status in statuses}
        return {
            "operationId": name,
            **({"summary": summary} if summary else {}),
            **({"description": f"Requires the role {ROLE_OF[action]}."} if action else {}),
            "security": [{"token": []}, {"session": []}, {}] if action else [{}],
            "parameters": self._parameters(route),
            **({"requestBody": {"content": {_JSON: {"schema": body}}}} if body else {}),
            "responses": {**self._answers(route), **answers},
        }

    def _parameters(self, route: Route) -> list[Schema]:
        in_path = _BRACES.findall(route.path)
        parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path]
        if isinstance(route, RpcRoute) and route.method == "GET":
            fields = [field for field in route.request_type.fields if field.name not in in_path]
            parameters += [
                {"name": field.name, "in": "query", "schema": self._schemas.field(field)} for field in fields
            ]
        return parameters

    def _body(self, route: Route) -> Schema | None:
        if route.method != "POST":
            return None
        if isinstance(route, HttpRoute):
            return self._schema(route.body) if route.body else None
        in_path = _BRACES.findall(route.path)
        rest = [field for field in route.request_type.fields if field.name not in in_path]
        return self._schemas.reference(route.request_type) if len(rest) == len(route.request_type.fields) else None

    def _answers(self, route: Route) -> Schema:
        if isinstance(route, HttpRoute):
            schema = self._schema(route.answer) if route.answer else {}
            return {str(route.status): _response("The current state.", schema, route.media)}
        schema = self._schemas.reference(route.response_type)
        if route.event:
            description = (
                f"Server-sent events named `{route.event}`, each with this as its data; `end` once there are no more."
            )
            return {"200": _response(description, schema, str(Stream.media_type))}
        there = {"200": _response("The current state.", schema)}
        return {"201": _response("Created.", schema), **there} if route.name == "StartRun" else there

    def _schema(self, kind: Any) -> Schema:
        """The schema of a message, or of a type that pydantic reads."""
        if isinstance(kind, Descriptor):
            return self._schemas.reference(kind)
        schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
        self._schemas.referenced.update(schema.pop("$defs", {}))
        return schema


def _response(description: str, schema: Schema, media: str = _JSON) -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}


def _operation_id(route: HttpRoute) -> str:
    """Its action or, for a route without one, its method and path."""
    if route.action:
        return route.action
    return route.method.capitalize() + "".join(part.capitalize() for part in re.findall(r"\w+", route.path))
