"""Makes the stand-in accept, refuse and answer as the endpoints of one dialect do."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from soliloquy.runtime.model.dialects import Dialect, dialects
from soliloquy.runtime.model.schemas import Schema, parts_of
from soliloquy.v1.model_pb2 import Completion, Finish

_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# The dollars that OpenRouter tells for a token.
_PRICE = 1e-6
# The code of an error with which a filter stops a prompt.
FILTERED = "content_filter"

Params = Mapping[str, Any]


@dataclass(eq=False)
class RefusedRequest(Exception):
    status: int
    message: str
    param: str = ""
    code: str = ""


class SpokenDialect:
    def __init__(self, name: str) -> None:
        self.dialect: Dialect = dialects()[name]
        # The path of the API, with the version that it requires.
        self.path, _, self.version = _TABLES["addresses"].get(name, _TABLES["addresses"]["usual"]).partition("?")
        self._refuses: Mapping[str, str] = _TABLES["refuses"][name]

    def check(self, params: Params) -> None:
        """Raises RefusedRequest for what the real endpoints refuse."""
        status = _TABLES["statuses"].get(self.dialect.error, 400)
        known = _TABLES["parameters"]
        for name, value in params.items():
            if self.dialect.refuses_unknown and name not in known["known"]:
                raise RefusedRequest(status, known["unknown"].format(name=name), code="unknown_parameter")
            if message := self._refuses.get(name):
                raise RefusedRequest(status, message.format(value=value), name, "unsupported_parameter")
        if params.get("response_format"):
            self._check_schema(params, status)

    def _check_schema(self, params: Params, status: int) -> None:
        asked = params["response_format"]
        kind, named = asked["type"], asked.get("json_schema", {})
        is_strict = named.get("strict") or self.dialect.forms[0] != "strict" or "loose" not in self.dialect.forms
        form = {"json_object": "object_schema" if "schema" in asked else "object"}.get(
            kind, "strict" if is_strict else "loose"
        )
        schema = asked_schema(params)
        fault = "" if form in self.dialect.forms else f"{kind} is not supported"
        if schema and form != "loose":
            fault = fault or next(faults(schema, self.dialect), "")
        if fault:
            message = _TABLES["schema"][self.dialect.error].format(name=named.get("name", ""), fault=fault)
            raise RefusedRequest(status, message, "response_format")

    def error(self, refused: RefusedRequest) -> Any:
        """Returns the body of an error."""
        status, message, param = refused.status, refused.message, refused.param or None
        usual = {"message": message, "type": "invalid_request_error", "param": param, "code": refused.code or None}
        match self.dialect.error:
            case "gemini":
                return [{"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}]
            case "openrouter":
                metadata = {"raw": json.dumps({"error": usual}), "provider_name": "Stand-in"}
                return {"error": {"message": "Provider returned error", "code": status, "metadata": metadata}}
            case "vllm":
                return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}
            case "sglang":
                return {
                    "object": "error",
                    "message": message,
                    "type": "BadRequestError",
                    "param": None,
                    "code": status,
                }
            case "llama-cpp":
                return {"error": {"code": status, "message": message, "type": "invalid_request_error"}}
            case "fastapi":
                return {"detail": [{"type": "literal_error", "loc": ["body", param], "msg": message, "input": "?"}]}
            case _:
                return {"error": usual}

    def message(self, completion: Completion) -> dict[str, Any]:
        """Returns the message of an answer, with refusals and thoughts where the dialect has them."""
        text, place = completion.text, self.dialect.reasoning
        if place == "<think>" and completion.reasoning:
            text = f"<think>\n{completion.reasoning}\n</think>\n\n{text}"
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if place not in ("", "<think>"):
            message[place] = completion.reasoning
        if completion.finish == Finish.FINISH_REFUSAL:
            message |= {"content": None, "refusal": text}
        return message

    def usage(self, completion: Completion) -> dict[str, Any]:
        """Returns the counts beyond those of every endpoint, and in place of them."""
        samples = (completion, *completion.more)
        thought = sum(sample.reasoning_tokens for sample in samples)
        written = sum(sample.completion_tokens for sample in samples)
        told: dict[str, Any] = {
            "prompt_tokens_details": {
                "cached_tokens": completion.cached_tokens,
                "cache_write_tokens": completion.cache_write_tokens,
            },
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
        match self.dialect.error:
            case "openrouter":
                return told | {"cost": _PRICE * (completion.prompt_tokens + written)}
            case "gemini":
                # Only the total has the tokens of thoughts.
                return {"completion_tokens": written - thought}
            case _:
                return told


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


_WORDS = ("force", "mass", "energy", "speed", "time", "height", "power", "charge", "heat", "wave")


def sentence(chance: Random) -> str:
    return f"I think about the {chance.choice(_WORDS)} and the {chance.choice(_WORDS)}."


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
