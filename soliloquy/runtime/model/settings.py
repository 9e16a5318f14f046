"""Reads which endpoint answers each role and how, from a TOML file that is validated before anything starts."""

import functools
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.dialects import known_dialect
from soliloquy.runtime.regular_file import require_regular

SHIPPED = Path(__file__).with_name("models.toml")
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"

Engine = Literal["scripted", "openai", "ray"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An endpoint that serves a model."""

    engine: Engine
    # The base URL of an OpenAI-compatible API, including /v1.
    base_url: str = ""
    # HOST:PORT of a ModelService.
    address: str = ""
    # The endpoint's name for the model.
    model: str = "default"
    # The environment variable or file with the key. Without either, we read the usual variable.
    key_variable: str = ""
    key_file: Path | None = None
    # How the endpoint enforces an answer's schema.
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    # How the endpoint differs from OpenAI's API (dialects.toml); empty to tell from the address and the model.
    dialect: Annotated[str, AfterValidator(known_dialect)] = ""
    # Seconds to wait for an answer.
    timeout: Annotated[float, Field(gt=0)] = 120.0
    # Concurrent calls of each process; fewer while the endpoint throttles.
    max_concurrency: Annotated[int, Field(ge=1)] = 256
    # Prices per million tokens.
    prompt_price: Annotated[float, Field(ge=0)] = 0.0
    completion_price: Annotated[float, Field(ge=0)] = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """The endpoint, adapter and sampling of one role."""

    temperature: Annotated[float, Field(ge=0, le=2)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    # The endpoint's name; empty if there is only one.
    endpoint: str = ""
    # The endpoint's name for LoRA weights on top of the model.
    adapter: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    endpoints: Mapping[str, Endpoint]
    roles: Mapping[str, Role]

    def endpoint_of(self, role: str) -> Endpoint:
        return self.endpoints[self.roles[role].endpoint]

    @property
    def used(self) -> Mapping[str, Endpoint]:
        """Returns the endpoints that some role uses."""
        return {role.endpoint: self.endpoints[role.endpoint] for role in self.roles.values()}

    @property
    def has_scripted(self) -> bool:
        return any(endpoint.engine == "scripted" for endpoint in self.used.values())

    def only_at(self, endpoint: Endpoint) -> "Models":
        """Returns settings with every role at one endpoint; sampling stays."""
        roles = {name: replace(role, endpoint=endpoint.engine) for name, role in self.roles.items()}
        return Models(endpoints={endpoint.engine: endpoint}, roles=roles)

    def identity(self) -> dict[str, Any]:
        """Returns the settings that influence answers, so neither addresses nor prices."""
        names = {_model_named(endpoint) for endpoint in self.used.values()}
        told: dict[str, Any] = {"model": ", ".join(sorted(names))}
        if names != {"scripted"}:
            told["roles"] = {name: self._identity(role) for name, role in sorted(self.roles.items())}
        return told

    def _identity(self, role: Role) -> dict[str, Any]:
        endpoint = self.endpoints[role.endpoint]
        if endpoint.engine == "scripted":
            # The scripted model does not sample.
            return {"engine": "scripted"}
        return {
            "engine": endpoint.engine,
            "model": endpoint.model,
            "adapter": role.adapter,
            **({"schema": endpoint.schema} if endpoint.engine == "openai" else {}),
            "temperature": role.temperature,
            "top_p": role.top_p,
            "max_tokens": role.max_tokens,
        }


def described(name: str, endpoint: Endpoint) -> str:
    """Returns the endpoint's name, address and model, for messages."""
    return f"{name} ({endpoint.base_url or endpoint.address}, model {endpoint.model!r})"


def _model_named(endpoint: Endpoint) -> str:
    return "scripted" if endpoint.engine == "scripted" else f"{endpoint.model} ({endpoint.engine})"


_OF_ANY = {"engine", "timeout", "max_concurrency", "prompt_price", "completion_price"}
_KEYS = {
    "scripted": {"engine"},
    "openai": {*_OF_ANY, "base_url", "model", "key_variable", "key_file", "schema", "dialect"},
    "ray": {*_OF_ANY, "address", "model"},
}
_NEEDED = {"openai": "base_url", "ray": "address"}


@functools.cache
def shipped_models() -> Models:
    return _models(tomllib.loads(SHIPPED.read_text("utf-8")), SHIPPED, {})


def read_models(file: Path) -> Models:
    """Reads a settings file; roles that it leaves out keep the shipped settings."""
    try:
        require_regular(file)
        table = tomllib.loads(file.read_text("utf-8"))
    except RecursionError as error:
        raise Failure(f"{file} holds no model settings (its brackets are too deep)") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{file} holds no model settings ({error})") from error
    return _models(table, file, shipped_models().roles)


def checked_endpoint(table: Mapping[str, Any], where: str) -> Endpoint:
    engine = table.get("engine")
    if not isinstance(engine, str) or engine not in _KEYS:
        raise Failure(f"{where}: unknown engine {engine!r}: use {', '.join(_KEYS)}")
    _check_names(table, _KEYS[engine], f"{where} (engine {engine})")
    if (needed := _NEEDED.get(engine)) and not table.get(needed):
        raise Failure(f"{where}: engine {engine} requires {needed}")
    endpoint = _validated(Endpoint, table, where)
    if endpoint.base_url:
        _check_url(endpoint.base_url, where)
    if endpoint.address and re.fullmatch(r"\S+:\d{1,5}", endpoint.address) is None:
        raise Failure(f"{where}: invalid address {endpoint.address!r}: use HOST:PORT, e.g. 127.0.0.1:9000")
    if endpoint.key_variable and endpoint.key_file:
        raise Failure(f"{where}: use key_variable or key_file, not both")
    return endpoint


def _models(table: Mapping[str, Any], file: Path, known: Mapping[str, Role]) -> Models:
    _check_names(table, {"endpoint", "endpoints", "roles"}, str(file))
    endpoints = {
        name: checked_endpoint(_table(settings, f"{file}: endpoints.{name}"), f"{file}: endpoints.{name}")
        for name, settings in _table(table.get("endpoints", {}), f"{file}: endpoints").items()
    } or dict(shipped_models().endpoints)
    usual = table.get("endpoint", next(iter(endpoints)) if len(endpoints) == 1 else "")
    given = _table(table.get("roles", {}), f"{file}: roles")
    if known:
        _check_names(given, known, f"{file}: roles")
    roles = {}
    for name in known or given:
        where = f"{file}: roles.{name}"
        settings = _table(given.get(name, {}), where)
        _check_names(settings, {field.name for field in fields(Role)}, where)
        kept = asdict(known[name]) if known else {}
        role = _validated(Role, {**kept, "endpoint": usual, **settings}, where)
        if role.endpoint not in endpoints:
            unknown = f"unknown endpoint {role.endpoint!r}" if role.endpoint else "the role names no endpoint"
            raise Failure(f"{where}: {unknown}: use {', '.join(endpoints)}")
        if role.adapter and endpoints[role.endpoint].engine == "scripted":
            raise Failure(f"{where}: the scripted model cannot use an adapter ({role.adapter!r}): remove it")
        roles[name] = role
    return Models(endpoints=endpoints, roles=roles)


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Failure(f"{where}: {value!r} is not a table: use [brackets]")
    return value


def _check_names(given: Collection[str], allowed: Collection[str], where: str) -> None:
    if unknown := [name for name in given if name not in allowed]:
        raise Failure(f"{where}: unknown name {unknown[0]!r}: use {', '.join(sorted(allowed))}")


S = TypeVar("S", Endpoint, Role)


def _validated(kind: type[S], table: Mapping[str, Any], where: str) -> S:
    try:
        return TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in problem["loc"])
        raise Failure(f"{where}.{name}: {problem['msg']}, not {problem['input']!r}") from error


def _check_url(url: str, where: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Failure(f"{where}: {url!r} is not a URL: use e.g. https://api.example.com/v1")
    if parts.username or parts.password:
        raise Failure(f"{where}: base_url must not contain a user name or a password: use key_file")


@dataclass(frozen=True, slots=True)
class Key:
    """An endpoint's API key, which is never shown; empty for an endpoint without one."""

    secret: str = field(repr=False)
    # The environment variable or file that holds it.
    place: str

    def without(self, said: bytes) -> bytes:
        """Redacts the key in an endpoint's response, which may repeat it."""
        return said.replace(self.secret.encode(), b"[key]") if self.secret else said


def key_of(endpoint: Endpoint, where: str, environment: Mapping[str, str] = os.environ) -> Key:
    if endpoint.key_file:
        place = str(endpoint.key_file)
        try:
            secret = endpoint.key_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{where}: cannot read a key from {place} ({error})") from error
        if not secret:
            raise Failure(f"{where}: {place} holds no key")
    else:
        place = endpoint.key_variable or DEFAULT_KEY_VARIABLE
        secret = environment.get(place, "").strip()
        if endpoint.key_variable and not secret:
            raise Failure(f"{where}: {place} is not set: set it to the key of the endpoint")
    return checked_key(secret, place, f"{where}: ")


def checked_key(secret: str, place: str, where: str = "") -> Key:
    """Raises Failure for a text that no header can carry."""
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise Failure(f"{where}{place} holds no key: a key has no blanks or line breaks")
    return Key(secret, place)
