"""Draws a random value that a JSON schema allows."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

WORDS = ("force", "mass", "energy", "speed", "time", "height", "power", "charge", "heat", "wave")
# Candidates for a text with a pattern.
_CANDIDATES = (*(str(number) for number in range(100)), *"abcdefghijklmnopqrstuvwxyz", *WORDS)
# A limit on nesting, because a schema may refer to itself.
MAX_DEPTH = 20

Schema = Mapping[str, Any]


class CannotFollow(ValueError):
    """The schema uses a feature that is not supported here."""


def value_of(schema: Schema, chance: Random) -> Any:
    return _drawn(schema, schema.get("$defs", {}), chance, 0)


def sentence(chance: Random) -> str:
    return f"I think about the {chance.choice(WORDS)} and the {chance.choice(WORDS)}."


def _drawn(schema: Schema, named: Mapping[str, Schema], chance: Random, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise CannotFollow(f"the schema nests deeper than {MAX_DEPTH} levels")
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix("#/$defs/")
        if name not in named:
            raise CannotFollow(f"the schema refers to {reference!r}, which is not in its $defs")
        return _drawn(named[name], named, chance, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _drawn(chance.choice(choices), named, chance, depth + 1)
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _drawn(field, named, chance, depth + 1) for name, field in fields.items()}
        case "array":
            number = max(schema.get("minItems", 0), min(2, schema.get("maxItems", 2)))
            return [_drawn(schema.get("items", {}), named, chance, depth + 1) for _ in range(number)]
        case "string":
            return _text(schema, chance)
        case "integer":
            low = int(schema.get("minimum", 0))
            return chance.randint(low, int(schema.get("maximum", low + 10)))
        case "number":
            least = float(schema.get("minimum", 0))
            return round(chance.uniform(least, float(schema.get("maximum", least + 10))), 2)
        case "boolean":
            return chance.random() < 0.5
        case "null" | None:
            return None
        case other:
            raise CannotFollow(f"the schema asks for a {other!r}")


def _text(schema: Schema, chance: Random) -> str:
    pattern = schema.get("pattern")
    if pattern is None:
        least: int = schema.get("minLength", 0)
        text = sentence(chance).ljust(least, ".")
        most: int = schema.get("maxLength", len(text))
        return text[:most]
    fitting: list[str] = [text for text in _CANDIDATES if re.search(pattern, text)]
    if not fitting:
        raise CannotFollow(f"no candidate matches the pattern {pattern!r}")
    return chance.choice(fitting)
