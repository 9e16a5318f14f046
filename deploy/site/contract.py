"""The pages about the HTTP API, the rows of a dataset and the topics, from what defines them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.message import Message

from deploy.site.markdown import code, prose, table
from soliloquy.dataset.rows import TIMINGS, schema
from soliloquy.recipes.labels import PATHS, columns_of, labels_of
from soliloquy.recipes.packages import known_recipes
from soliloquy.runs.assembly import declared, steering
from soliloquy.runtime.arrow import pa
from soliloquy.runtime.topics import TOPICS, Shape, shapes
from soliloquy.runtime.transports.kafka.asyncapi import received, sent
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Timings
from soliloquy_services.gateway.chat.routes import ChatRoutes
from soliloquy_services.gateway.http.application import routes
from soliloquy_services.gateway.http.openapi import comments, openapi
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.teaching.routes import TeachingRoutes

Schema = Mapping[str, Any]


def api_page() -> str:
    # A route is described without what answers it.
    nothing = cast(Any, None)
    chats = ChatRoutes(chats=nothing, completions=nothing).all()
    teaching = TeachingRoutes(nothing, lasting=True).all()
    document = openapi((*routes(nothing, GatewaySettings()), *chats, *teaching))
    operations = [
        (method.upper(), path, one) for path, methods in document["paths"].items() for method, one in methods.items()
    ]
    types = {name: one for name, one in document["components"]["schemas"].items() if not name.startswith("_")}
    return "".join(
        (
            "# HTTP API\n\nThe gateway serves this as an OpenAPI document at `/openapi.json`. A refusal has the status "
            "of its [Error](#error), from 400 to 503.\n\n",
            *(_operation(*one) for one in operations),
            "## Types\n\n",
            *(_type_section(name, one) for name, one in types.items()),
        )
    )


def _operation(method: str, path: str, operation: Schema) -> str:
    parameters = [
        (
            code(one["name"]),
            one["in"],
            _type(one["schema"]),
            prose(one["schema"].get("description", one.get("description", ""))),
        )
        for one in operation["parameters"]
    ]
    body = operation.get("requestBody")
    answers = {status: one for status, one in operation["responses"].items() if status.startswith("2")}
    return "".join(
        (
            f"## {method} {path}\n\n{prose(operation.get('summary', ''))} {operation.get('description', '')}\n\n",
            table(("parameter", "in", "type", ""), parameters) if parameters else "",
            f"Body: {_content(body)}\n\n" if body else "",
            *(f"{status}: {_content(one)}\n\n" for status, one in answers.items()),
        )
    )


def _content(part: Schema) -> str:
    return ", ".join(f"{_type(one['schema'])} as `{media}`" for media, one in part["content"].items())


def _type(schema: Schema) -> str:
    """Returns a JSON schema in a word, with links to the types below."""
    match schema:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return name if name.startswith("_") else f"[{name}](#{name.lower()})"
        case {"items": items}:
            return f"list of {_type(items)}"
        case {"additionalProperties": dict(value)}:
            return f"map of {_type(value)}"
        case {"enum": values}:
            return ", ".join(code(str(value)) for value in values)
        case {"const": value}:
            return code(str(value))
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(filter(None, map(_type, options)))
    return str(schema.get("format", schema.get("type", "any")))


def _type_section(name: str, schema: Schema) -> str:
    head = f"### {name}\n\n{prose(schema.get('description', ''))}\n\n"
    if "properties" not in schema:
        return f"{head}{_type(schema)}\n\n"
    rows = ((code(field), _type(one), prose(one.get("description", ""))) for field, one in schema["properties"].items())
    return head + table(("field", "type", ""), rows)


def rows_page() -> str:
    return "".join(
        (
            "# Rows of a dataset\n\nA row is a conversation. `turns.student.text` is a column by its path; an enum is "
            "the name of its value.\n\n",
            *_messages(Conversation, schema("")),
            "## Labels\n\nA recipe keeps what only it knows in columns of its own.\n\n",
            *(f"### Of {recipe}\n\n{table(('column', 'type', ''), _labels(recipe))}" for recipe in known_recipes()),
            "## Times\n\nThe files in `timings/` have a row for each conversation.\n\n",
            *_messages(Timings, TIMINGS),
        )
    )


def _messages(root: type[Message], columns: Iterable[pa.Field]) -> Iterator[str]:
    """Yields a table for each message of a row, in the order in which a reader meets them."""
    waiting: dict[str, tuple[Any, Iterable[pa.Field]]] = {root.DESCRIPTOR.name: (root.DESCRIPTOR, columns)}
    for name in (names := [*waiting]):
        message, fields = waiting[name]
        rows = []
        for field in fields:
            kind = field.type.value_type if pa.types.is_list(field.type) else field.type
            described = message.fields_by_name[field.name]
            shown = code(str(kind))
            if described.message_type and pa.types.is_struct(kind):
                below = described.message_type
                shown = f"[{below.name}](#{below.name.lower()})"
                if below.name not in waiting:
                    waiting[below.name] = (below, kind)
                    names.append(below.name)
            elif described.enum_type:
                shown = ", ".join(map(code, described.enum_type.values_by_name))
            elif field.name == "labels":
                shown = "[labels](#labels)"
            repeated = "list of " if kind is not field.type else ""
            rows.append((code(field.name), repeated + shown, prose(comments().get(f"{name}.{field.name}", ""))))
        yield f"### {name}\n\n{prose(comments().get(name, ''))}\n\n{table(('column', 'type', ''), rows)}"


def _labels(recipe: str) -> Iterator[tuple[str, str, str]]:
    titles = columns_of(recipe)
    for name, field in labels_of(recipe).values():
        place, _, rest = name.partition(".")
        kind = (
            ", ".join(map(code, field.enum_type.values_by_name))
            if field.enum_type
            else code(FieldDescriptorProto.Type.Name(cast(Any, field.type)).removeprefix("TYPE_").lower())
        )
        yield code(f"{PATHS[place]}.{rest}"), kind, prose(titles[name].title if name in titles else "")


def topics_page() -> str:
    services = [*declared(), *steering()]
    kept = {shape.topic: shape for shape in shapes()}
    rows = []
    for topic in TOPICS.values():
        message = topic.message.DESCRIPTOR
        readers, writers = (
            ", ".join(dict.fromkeys(one.name for one in services if topic.name in topics(one)))
            for topics in (received, sent)
        )
        meaning = f"{prose(comments().get(message.name, ''))} {', '.join(map(code, message.fields_by_name))}"
        rows.append(
            (code(topic.name), f"{message.name} by {topic.key}", meaning, writers, readers, _kept(kept[topic.name]))
        )
    return (
        "# Topics\n\nEvents are protobuf messages, and hold the conversation so far. A topic whose events are handled "
        "has `.retry` and `.dlq` beside it. `soliloquy asyncapi` prints the same as an AsyncAPI document.\n\n"
        + table(("topic", "message by key", "meaning and fields", "written by", "read by", "kept"), rows)
    )


def _kept(shape: Shape) -> str:
    if "compact" in shape.configs["cleanup.policy"]:
        return "the latest of each key"
    milliseconds = int(shape.configs["retention.ms"])
    return "always" if milliseconds < 0 else f"{milliseconds / 86_400_000:g} days"
