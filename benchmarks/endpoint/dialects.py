"""Accepts, refuses and answers as the endpoints of a dialect do."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.dialects import Dialect
from soliloquy.runtime.model.schemas import Schema, parts_of
from soliloquy.v1.model_pb2 import Completion
from soliloquy_services.model.fake import THOUGHTS, RefusedRequest

_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# The dollars that OpenRouter tells for a token.
_PRICE = 1e-6

Params = Mapping[str, Any]


def address(dialect: Dialect) -> tuple[str, str]:
    """Returns the path of the API, and the query with the version that it requires."""
    path, mark, version = _TABLES["addresses"].get(dialect.name, _TABLES["addresses"]["usual"]).partition("?")
    return path, mark + version


def check(dialect: Dialect, params: Params) -> None:
    """Raises RefusedRequest for what the real endpoints refuse."""
    status = _TABLES["statuses"].get(dialect.error, 400)
    known, refuses = _TABLES["parameters"], _TABLES["refuses"][dialect.name]
    for name, value in params.items():
        if dialect.refuses_unknown and name not in known["known"]:
            raise RefusedRequest(status, known["unknown"].format(name=name), code="unknown_parameter")
        if message := refuses.get(name):
            raise RefusedRequest(status, message.format(value=value), name, "unsupported_parameter")
    if params.get("response_format"):
        _check_schema(dialect, params, status)


def _check_schema(dialect: Dialect, params: Params, status: int) -> None:
    asked = params["response_format"]
    kind, named = asked["type"], asked.get("json_schema", {})
    is_strict = named.get("strict") or dialect.forms[0] != "strict" or "loose" not in dialect.forms
    form = {"json_object": "object_schema" if "schema" in asked else "object"}.get(
        kind, "strict" if is_strict else "loose"
    )
    schema = asked_schema(params)
    fault = "" if form in dialect.forms else f"{kind} is not supported"
    if schema and form != "loose":
        fault = fault or next(faults(schema, dialect), "")
    if fault:
        message = _TABLES["schema"][dialect.error].format(name=named.get("name", ""), fault=fault)
        raise RefusedRequest(status, message, "response_format")


def error(dialect: Dialect, refused: RefusedRequest, usual: Mapping[str, Any]) -> Any:
    """Returns the body of an error; `usual` is what OpenAI has in it."""
    status, message = refused.status, refused.message
    bad_request = {"message": message, "type": "BadRequestError", "param": None, "code": status}
    match dialect.error:
        case "gemini":
            return [{"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}]
        case "openrouter":
            metadata = {"raw": json.dumps({"error": usual}), "provider_name": "Stand-in"}
            return {"error": {"message": "Provider returned error", "code": status, "metadata": metadata}}
        case "vllm":
            return {"error": bad_request}
        case "sglang":
            return {"object": "error", **bad_request}
        case "llama-cpp":
            return {"error": {"code": status, "message": message, "type": "invalid_request_error"}}
        case "fastapi":
            location = ["body", refused.param or None]
            return {"detail": [{"type": "literal_error", "loc": location, "msg": message, "input": "?"}]}
        case _:
            return {"error": usual}


def message(dialect: Dialect, usual: dict[str, Any]) -> dict[str, Any]:
    """Returns the message of an answer, with thoughts where the dialect has them."""
    place, thoughts = dialect.reasoning, usual.pop(THOUGHTS)
    if place == "<think>" and thoughts and usual["content"] is not None:
        usual["content"] = f"<think>\n{thoughts}\n</think>\n\n{usual['content']}"
    return usual if place in ("", "<think>") else usual | {place: thoughts}


def usage(dialect: Dialect, completion: Completion, usual: dict[str, Any]) -> dict[str, Any]:
    """Returns the counts beyond those of every endpoint, and in place of them."""
    samples = (completion, *completion.more)
    written = sum(sample.completion_tokens for sample in samples)
    match dialect.error:
        case "openrouter":
            return usual | {"cost": _PRICE * (completion.prompt_tokens + written)}
        case "gemini":
            # Only the total has the tokens of thoughts.
            return {"completion_tokens": written - sum(sample.reasoning_tokens for sample in samples)}
        case _:
            return usual


def asked_schema(params: Params) -> Params | None:
    """Returns the schema of the answer that a request wants."""
    asked = params.get("response_format") or {}
    schema: Params | None = asked.get("json_schema", {}).get("schema") or asked.get("schema")
    return schema


def shaped(text: str, schema: Params) -> str:
    """Returns a scripted answer as a model writes it that the schema constrains: nested in a field, or with nulls."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    fields = schema.get("properties", {})
    if len(fields) == 1 and not fields.keys() & answer.keys():
        answer = {next(iter(fields)): answer}
    return json.dumps({name: answer.get(name) for name in fields} if fields else answer, ensure_ascii=False)


def faults(schema: Schema, dialect: Dialect) -> Iterator[str]:
    """Yields why a dialect does not take a schema as one that it enforces."""
    if "anyOf" in schema and "whole" not in dialect.unions:
        yield "the root is a union"
    for part in parts_of(schema):
        if forbidden := dialect.without_keywords & part.keys():
            yield f"{sorted(forbidden)[0]!r} is not permitted"
        fields = part.get("properties", {})
        if fields and set(part.get("required", ())) != set(fields):
            yield "'required' has to list every key"
        if fields and part.get("additionalProperties") is not False:
            yield "'additionalProperties' has to be false"
        first = [next(iter(each["properties"]), "") for each in part.get("anyOf", ()) if "properties" in each]
        if "nested" not in dialect.unions and len(first) > len(set(first)):
            yield "the objects of a union begin with the same key"
        if not part.keys() & {"type", "anyOf", "$ref"}:
            yield "a part has no type"
