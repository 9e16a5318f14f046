"""The OpenAPI document, generated from the routes and the contract."""

import inspect
import re
from collections.abc import Iterable
from importlib.metadata import version

from services.gateway.access.roles import ROLE_OF
from services.gateway.http.responses import REQUEST_TIMEOUT
from services.gateway.http.routes import HttpRoute, RequestContext
from services.gateway.http.schemas import Schema, Schemas
from services.gateway.http.session import COOKIE
from services.gateway.refusals import Code

PATH = "/openapi.json"
_BRACES = re.compile(r"\{(\w+)(?::\w+)?\}")
_WORD = re.compile(r"\w+")
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


def openapi_route(routes: Iterable[HttpRoute]) -> HttpRoute:
    schemas = Schemas()
    paths: dict[str, Schema] = {}
    for route in routes:
        place = _BRACES.sub(r"{\1}", route.path)
        paths.setdefault(place, {})[route.method.lower()] = _operation(route, schemas)
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Soliloquy",
            "version": version("soliloquy"),
            "description": "Starts, shows and steers runs: `RunService` as JSON.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**dict(sorted(schemas.referenced.items())), "Error": _ERROR},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }

    async def show(_: RequestContext) -> Schema:
        """This document."""
        return document

    return HttpRoute("GET", PATH, "", show)


def _operation(route: HttpRoute, schemas: Schemas) -> Schema:
    codes = (*_ANY_CODES, *_POST_CODES) if route.method == "POST" else _ANY_CODES
    statuses = {code.http_status for code in codes} | ({REQUEST_TIMEOUT} if route.method == "POST" else set())
    summary = inspect.getdoc(route.handler) if route.summary is None else route.summary
    refusals = {str(status): _response("Refused.", {"$ref": "#/components/schemas/Error"}) for status in statuses}
    return {
        # A route without an action is named after its method and path.
        "operationId": route.action
        or route.method.capitalize() + "".join(map(str.capitalize, _WORD.findall(route.path))),
        **({"summary": summary} if summary else {}),
        **({"description": f"Requires the role {ROLE_OF[route.action]}."} if route.action else {}),
        "security": [{"token": []}, {"session": []}, {}] if route.action else [{}],
        "parameters": _parameters(route, schemas),
        **({"requestBody": {"content": {_JSON: {"schema": schemas.of(route.body)}}}} if route.body else {}),
        "responses": {**_answers(route, schemas), **refusals},
    }


def _parameters(route: HttpRoute, schemas: Schemas) -> list[Schema]:
    in_path = _BRACES.findall(route.path)
    fields = [field for field in route.query.fields if field.name not in in_path] if route.query else []
    return [
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path),
        *({"name": field.name, "in": "query", "schema": schemas.field(field)} for field in fields),
    ]


def _answers(route: HttpRoute, schemas: Schemas) -> Schema:
    schema = schemas.of(route.answer) if route.answer else {}
    if route.event:
        line = f"Server-sent events named `{route.event}`, each with this as its data; `end` once there are no more."
        return {"200": _response(line, schema, route.media)}
    meanings = {200: "The current state.", 201: "Created."}
    return {str(status): _response(meanings[status], schema, route.media) for status in route.statuses}


def _response(description: str, schema: Schema, media: str = _JSON) -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}
