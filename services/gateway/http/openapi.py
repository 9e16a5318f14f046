"""The OpenAPI document, generated from the routes and the contract with its comments."""

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from pydantic import TypeAdapter
from starlette.responses import Response

from soliloquy.problems.bank.bank import bank_names
from soliloquy.recipes.packages import known_recipes
from soliloquy.runtime.distribution import installed_version
from soliloquy_services.gateway.access.tokens import ROLE_OF
from soliloquy_services.gateway.http.answers import REQUEST_TIMEOUT, to_json
from soliloquy_services.gateway.http.routes import DRY_RUN, HttpRoute, RequestContext
from soliloquy_services.gateway.http.session import COOKIE
from soliloquy_services.gateway.index import PLACE_TOKEN
from soliloquy_services.gateway.refusals import Code
from soliloquy_services.gateway.requests import LARGEST_SIZE, LONGEST_NAME, PAGE_TOKEN, REQUEST_ID, RUN_LIMITS

Schema = dict[str, Any]


def digits_up_to(most: int) -> str:
    """Returns a pattern of the numbers up to one, as decimal strings without leading zeros."""
    text = str(most)
    shorter = [f"[1-9][0-9]{{0,{len(text) - 2}}}"] if len(text) > 1 else []
    smaller = [
        f"{text[:at]}[{0 if at else 1}-{int(digit) - 1}][0-9]{{{len(text) - at - 1}}}"
        for at, digit in enumerate(text)
        if int(digit) > (0 if at else 1)
    ]
    return "|".join(["0", *shorter, *smaller, text])


_OPENS = re.compile(r"(message|enum|service) (\w+) \{")
_NAMES = re.compile(r"(?:rpc (\w+)|(?:repeated |optional )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+|([A-Z]\w*) = \d+)")

_Field = FieldDescriptor
_SCALARS: Mapping[int, Schema] = {
    _Field.TYPE_BOOL: {"type": "boolean"},
    _Field.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    # JSON has no numbers for NaN and the infinities.
    _Field.TYPE_DOUBLE: {"oneOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    _Field.TYPE_INT32: {"type": "integer", "format": "int32"},
    # JavaScript's numbers hold fewer digits.
    _Field.TYPE_INT64: {"type": "string", "format": "int64", "pattern": f"^-?({digits_up_to(2**63 - 1)})$"},
    _Field.TYPE_STRING: {"type": "string"},
    _Field.TYPE_UINT64: {"type": "string", "format": "uint64", "pattern": f"^({digits_up_to(2**64 - 1)})$"},
}

PATH = "/openapi.json"
_BRACES = re.compile(r"\{(\w+)(?::\w+)?\}")
_WORD = re.compile(r"\w+")
_JSON = "application/json"
_ANY_CODES = (Code.INVALID, Code.UNAUTHENTICATED, Code.DENIED, Code.UNKNOWN, Code.TOO_MANY, Code.UNAVAILABLE)
_POST_CODES = (Code.EXISTS, Code.TOO_LARGE)
_DRY_PARAMETER = {
    "name": DRY_RUN,
    "in": "query",
    "description": "Answer with what the run would take, and start nothing.",
    "schema": {"type": "boolean"},
}
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


def constraints() -> Mapping[str, Schema]:
    """Returns the bounds that requests are checked against, beyond the types of their fields, as JSON schemas.

    They are those of "StartRunRequest.request_id" or, in any message, of "page_size".
    """
    return {
        "page_size": {"minimum": 0, "maximum": LARGEST_SIZE},
        # Empty for the first page.
        "page_token": {"pattern": f"^({PAGE_TOKEN})?$"},
        "ListConversationsRequest.page_token": {"pattern": f"^({PLACE_TOKEN})?$"},
        "StartRunRequest": {"required": ["request", "request_id"]},
        "StartRunRequest.request_id": {"pattern": f"^{REQUEST_ID}$"},
        "StartRunRequest.request": {
            "required": ["recipe", "problems", "conversations"],
            "properties": {
                "recipe": {"enum": [*known_recipes()]},
                # Or a file that the gateway offers: GET /v1/choices lists both.
                "problems": {"anyOf": [{"enum": [*bank_names()]}, {"minLength": 1}]},
                "name": {"maxLength": LONGEST_NAME},
                **{name: _within(limits) for name, limits in RUN_LIMITS.items()},
            },
        },
    }


def _within(limits: Mapping[str, int]) -> Schema:
    bounds = {"minimum": limits["least"], "maximum": limits["most"]}
    if "usual" in limits:
        # 0 stands for the usual value.
        return {"anyOf": [{"const": 0}, bounds]}
    return {"pattern": f"^(?!0$)({digits_up_to(limits['most'])})$"}


class Schemas:
    """Collects the schemas of messages, as protobuf writes them in JSON, and of everything they contain."""

    def __init__(self) -> None:
        self.referenced: dict[str, Schema] = {}
        self._constraints = constraints()

    def of(self, kind: Any) -> Schema:
        """The schema of a message, or of a type that pydantic reads."""
        if isinstance(kind, Descriptor):
            return self.reference(kind)
        schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
        self.referenced.update(schema.pop("$defs", {}))
        return schema

    def reference(self, described: Descriptor | EnumDescriptor) -> Schema:
        if described.name not in self.referenced:
            # Reserved first, because messages may contain themselves.
            self.referenced[described.name] = {}
            self.referenced[described.name] = (
                self._message(described) if isinstance(described, Descriptor) else _enum(described)
            )
        return {"$ref": f"#/components/schemas/{described.name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        own = self._constraints.get(".".join(field.full_name.split(".")[-2:]), {})
        return {**self._typed(field), **self._constraints.get(field.name, {}), **own}

    def requires(self, kind: Any) -> bool:
        """Whether a body of this type must be sent."""
        schema = self.of(kind)
        return bool(self.referenced.get(schema.get("$ref", "").rpartition("/")[2], schema).get("required"))

    def _typed(self, field: FieldDescriptor) -> Schema:
        message = field.message_type
        if message and message.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self._one(message.fields_by_name["value"])}
        return {"type": "array", "items": self._one(field)} if field.is_repeated else self._one(field)

    def _one(self, field: FieldDescriptor) -> Schema:
        if described := field.message_type or field.enum_type:
            return self.reference(described)
        return dict(_SCALARS[field.type])

    def _message(self, described: Descriptor) -> Schema:
        properties = {
            field.name: {**self.field(field), **_description(f"{described.name}.{field.name}")}
            for field in described.fields
        }
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            **self._constraints.get(described.name, {}),
            **_description(described.name),
        }


def openapi(routes: Iterable[HttpRoute]) -> Schema:
    schemas = Schemas()
    paths: dict[str, Schema] = {}
    for route in routes:
        place = _BRACES.sub(r"{\1}", route.path)
        paths.setdefault(place, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Soliloquy",
            "version": installed_version(),
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


def openapi_route(routes: Iterable[HttpRoute]) -> HttpRoute:
    # Encoded once: everybody may ask for it.
    content = to_json(openapi(routes))

    async def show(_: RequestContext) -> Response:
        """This document."""
        return Response(content, headers={"cache-control": "no-store"}, media_type=_JSON)

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
        **({"requestBody": _body(route, schemas)} if route.body else {}),
        "responses": {**_answers(route, schemas), **refusals},
    }


def _body(route: HttpRoute, schemas: Schemas) -> Schema:
    return {"required": schemas.requires(route.body), "content": {_JSON: {"schema": schemas.of(route.body)}}}


def _parameters(route: HttpRoute, schemas: Schemas) -> list[Schema]:
    in_path = _BRACES.findall(route.path)
    fields = [field for field in route.query.fields if field.name not in in_path] if route.query else []
    return [
        *([_DRY_PARAMETER] if route.dry_answer else ()),
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path),
        *({"name": field.name, "in": "query", "schema": schemas.field(field)} for field in fields),
    ]


def _answers(route: HttpRoute, schemas: Schemas) -> Schema:
    schema = schemas.of(route.answer) if route.answer else {}
    if route.event:
        line = f"Server-sent events named `{route.event}`, each with this as its data; `end` once there are no more."
        return {"200": _response(line, schema, route.media)}
    dry = [schemas.of(route.dry_answer)] if route.dry_answer else []
    meanings = {200: "The current state.", 201: "Created."}
    schemas_by_status = {201: schema, 200: {"anyOf": [schema, *dry]} if dry else schema}
    return {
        str(status): _response(meanings[status], schemas_by_status[status], route.media) for status in route.statuses
    }


def _response(description: str, schema: Schema, media: str = _JSON) -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}


def _enum(described: EnumDescriptor) -> Schema:
    meanings = [
        f"{name}: {comment}"
        for name in described.values_by_name
        if (comment := comments().get(f"{described.name}.{name}"))
    ]
    return {
        "type": "string",
        "enum": list(described.values_by_name),
        **({"description": "\n".join(meanings)} if meanings else {}),
    }


def _description(name: str) -> Schema:
    comment = comments().get(name)
    return {"description": comment} if comment else {}


@functools.cache
def comments() -> dict[str, str]:
    """The comments of the contract's files, by "RunStatus" and "RunStatus.because"."""
    contract = files("soliloquy.v1")
    texts = [file.read_text("utf-8") for file in contract.iterdir() if file.name.endswith(".proto")]
    return {name: comment for text in texts for name, comment in _commented(text)}


def _commented(text: str) -> Iterator[tuple[str, str]]:
    within, comment = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if opened := _OPENS.match(line):
            within = opened[2]
            yield from [(within, " ".join(comment))] if comment else []
        elif (named := _NAMES.match(line)) and comment:
            yield f"{within}.{named[1] or named[2] or named[3]}", " ".join(comment)
        comment = []
