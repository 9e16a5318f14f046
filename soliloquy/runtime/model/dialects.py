"""Describes the kinds of OpenAI-compatible endpoints by what they accept and answer, from dialects.toml."""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from soliloquy.runtime.files import table_beside

UNKNOWN = "unknown"
Form = Literal["strict", "loose", "object_schema", "object"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """dialects.toml explains the fields."""

    name: str
    hosts: tuple[str, ...]
    models: str
    owner: str
    key_header: str
    limit: Literal["max_tokens", "max_completion_tokens"]
    without: frozenset[str]
    forms: tuple[Form, ...]
    unions: tuple[Literal["whole", "nested", "merged"], ...]
    without_keywords: frozenset[str]
    reasoning: str
    cache_key: bool
    cache_marks: str
    batches: Literal["", "files", "messages"]
    enforces: bool
    error: str
    refuses_unknown: bool

    def serves(self, host: str, model: str) -> bool:
        at_host = any(f".{host}".endswith(end if end.startswith(":") else f".{end}") for end in self.hosts)
        return at_host and re.search(self.models, model) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchForm:
    """dialects.toml explains the fields."""

    requests: int
    bytes: int
    line_bytes: int
    key_header: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class MessagesNames:
    """The Messages API's own names for OpenAI's fields; dialects.toml explains them."""

    most_temperature: float
    statuses: Mapping[str, int]
    finishes: Mapping[str, str]


_TABLES: Mapping[str, Any] = table_beside(__file__, "dialects.toml")
USAGE: Mapping[str, Sequence[Sequence[str]]] = {
    count: [place.split(".") for place in places] for count, places in _TABLES["usage"].items()
}
ERRORS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL) for kind, patterns in _TABLES["errors"].items()
}
BATCH_FORMS = TypeAdapter(dict[str, BatchForm]).validate_python(_TABLES["batches"])
MESSAGES_NAMES = TypeAdapter(MessagesNames).validate_python(_TABLES["messages"])


@functools.cache
def dialects() -> Mapping[str, Dialect]:
    tables = _TABLES["dialects"]
    known = TypeAdapter(dict[str, Dialect])
    return known.validate_python({name: {**tables[UNKNOWN], **table, "name": name} for name, table in tables.items()})


def dialect_of(name: str, base_url: str, model: str) -> Dialect:
    """Returns the dialect of that name; without a name, the one that the address and the model tell."""
    host = urlsplit(base_url).netloc
    fits = (dialect for dialect in dialects().values() if dialect.serves(host, model))
    return dialects()[name] if name else next(fits, dialects()[UNKNOWN])


def dialect_of_owner(owners: Collection[object]) -> str:
    """Returns the dialect of a server that lists its models as theirs; empty if that says nothing."""
    return next((name for name, dialect in dialects().items() if dialect.owner and set(owners) == {dialect.owner}), "")


def known_dialect(name: str) -> str:
    """Raises ValueError for a name that dialects.toml does not have."""
    if name and name not in dialects():
        raise ValueError(f"unknown dialect: use {', '.join(sorted(dialects()))}")
    return name
