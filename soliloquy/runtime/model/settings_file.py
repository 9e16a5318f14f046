"""Reads the settings of models from a TOML file, and validates them before anything starts."""

import functools
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.files import read_json, read_regular_text
from soliloquy.runtime.model.dialects import BATCH_FORMS, dialect_of
from soliloquy.runtime.model.settings import Endpoint, Models, PromptSettings, Role
from soliloquy.runtime.tls import Tls

# The table of a run file that has the settings of its models.
MODELS = "models"
SHIPPED = Path(__file__).with_name("models.toml")

_PRICES = {"prompt_price", "completion_price", "cached_price", "cache_write_price", "prices_as_of"}
_OF_ANY = {"engine", "timeout", "max_concurrency", *_PRICES}
_BATCHES = {"batch", "batch_size", "batch_age"}
_KEYS = {
    "scripted": {"engine"},
    "openai": {*_OF_ANY, "base_url", "model", "key_variable", "key_file", "schema", "dialect", *_BATCHES},
    "ray": {*_OF_ANY, "address", "model", "tls"},
}
# A role that is asked like another one where a file does not name it.
_LIKE = {"sampler": "planner", "reader": "tutor"}
_NEEDED = {"openai": "base_url", "ray": "address"}


@functools.cache
def shipped_models() -> Models:
    return _models(tomllib.loads(SHIPPED.read_text("utf-8")), SHIPPED, {})


def read_models(file: Path) -> Models:
    """Reads a settings file, or the table of a run file; roles that it leaves out keep the shipped settings."""
    table = read_table(file)
    return _models(_table(table.get(MODELS, table), f"{file}: {MODELS}"), file, shipped_models().roles)


def read_table(file: Path) -> Mapping[str, Any]:
    """Reads a file of settings in TOML, or those that the manifest of a dataset keeps; raises Failure."""
    try:
        if file.suffix == ".json":
            return _table(read_json(file)["options"], f"{file}: options")
        return tomllib.loads(read_regular_text(file))
    except RecursionError as error:
        raise Failure(f"{file} holds no settings (its brackets are too deep)") from error
    except (KeyError, TypeError) as error:
        raise Failure(f"{file} holds no settings: it is not the manifest of a dataset that was generated") from error
    except (OSError, ValueError) as error:
        raise Failure(f"{file} holds no settings ({error})") from error


def checked_endpoint(table: Mapping[str, Any], where: str) -> Endpoint:
    engine = table.get("engine")
    if not isinstance(engine, str) or engine not in _KEYS:
        raise Failure(f"{where}: unknown engine {engine!r}: use {', '.join(_KEYS)}")
    _check_names(table, _KEYS[engine], f"{where} (engine {engine})")
    if (needed := _NEEDED.get(engine)) and not table.get(needed):
        raise Failure(f"{where}: engine {engine} requires {needed}")
    tls = {"tls": _read(Tls, table["tls"], f"{where}.tls")} if "tls" in table else {}
    endpoint = _read(Endpoint, {**table, **tls}, where)
    if endpoint.base_url:
        _check_url(endpoint.base_url, where)
    if endpoint.address and re.fullmatch(r"\S+:\d{1,5}", endpoint.address) is None:
        raise Failure(f"{where}: invalid address {endpoint.address!r}: use HOST:PORT, e.g. 127.0.0.1:9000")
    if endpoint.key_variable and endpoint.key_file:
        raise Failure(f"{where}: use key_variable or key_file, not both")
    if not endpoint.batch and (idle := _BATCHES & table.keys() - {"batch"}):
        raise Failure(f"{where}: {min(idle)} requires batch = true")
    if endpoint.batch:
        _check_batches(endpoint, where)
    if _PRICES & table.keys() and (lacking := {"prompt_price", "completion_price"} - table.keys()):
        raise Failure(f"{where}: the prices lack {min(lacking)}: set prompt_price and completion_price, 0 for nothing")
    return endpoint


def in_batches(models: Models) -> Models:
    """Returns models whose endpoints are all asked in batches; raises Failure for one without any."""
    for name, endpoint in models.endpoints.items():
        _check_batches(endpoint, name)
    return replace(models, endpoints={name: replace(each, batch=True) for name, each in models.endpoints.items()})


def _models(table: Mapping[str, Any], file: Path, known: Mapping[str, tuple[Role, ...]]) -> Models:
    _check_names(table, {"endpoint", "endpoints", "roles", "prompts"}, str(file))
    told = {name: _table(table.get(name, {}), f"{file}: {name}") for name in ("endpoints", "roles", "prompts")}
    endpoints = {
        name: checked_endpoint(_table(settings, f"{file}: endpoints.{name}"), f"{file}: endpoints.{name}")
        for name, settings in told["endpoints"].items()
    } or dict(shipped_models().endpoints)
    usual = table.get("endpoint", next(iter(endpoints)) if len(endpoints) == 1 else "")
    given = told["roles"]
    if known:
        _check_names(given, known, f"{file}: roles")
    roles = {}
    for name in known or given:
        where = f"{file}: roles.{name}"
        kept = asdict(known[name][0]) if known else {}
        members = _members(given.get(name, given.get(_LIKE.get(name, ""), {})), where)
        roles[name] = tuple(_role({**kept, "endpoint": usual, **member}, where, endpoints) for member in members)
    prompts = {name: _prompt(own, f"{file}: prompts.{name}", endpoints) for name, own in told["prompts"].items()}
    return Models(endpoints=endpoints, roles=roles, prompts=prompts)


def _members(given: object, where: str) -> Sequence[Mapping[str, Any]]:
    """Returns the settings of a role, which are those of its only member without a mixture."""
    if isinstance(given, list) and given:
        return [_table(member, where) for member in given]
    settings = _table(given, where)
    if "weight" in settings:
        raise Failure(f"{where}: weight requires a mixture: use [[double brackets]] for each of its members")
    return [settings]


def _role(settings: Mapping[str, Any], where: str, endpoints: Mapping[str, Endpoint]) -> Role:
    role = _read(Role, settings, where)
    if not role.endpoint:
        raise Failure(f"{where}: the role names no endpoint: use {', '.join(endpoints)}")
    _check_endpoint(role.endpoint, role.adapter, where, endpoints)
    if role.fallback:
        _check_endpoint(role.fallback, "", f"{where}.fallback", endpoints)
    return role


def _prompt(settings: object, where: str, endpoints: Mapping[str, Endpoint]) -> PromptSettings:
    if isinstance(settings, list):
        raise Failure(f"{where}: a prompt has no mixture: set its role's, or one endpoint")
    prompt = _read(PromptSettings, settings, where)
    if prompt.endpoint is not None:
        _check_endpoint(prompt.endpoint, prompt.adapter or "", where, endpoints)
    return prompt


def _check_endpoint(name: str, adapter: str, where: str, endpoints: Mapping[str, Endpoint]) -> None:
    if name not in endpoints:
        raise Failure(f"{where}: unknown endpoint {name!r}{_near(name, endpoints)}")
    if adapter and endpoints[name].engine == "scripted":
        raise Failure(f"{where}: the scripted model cannot use an adapter ({adapter!r}): remove it")


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Failure(f"{where}: {value!r} is not a table: use [brackets]")
    return value


def _check_names(given: Collection[str], allowed: Collection[str], where: str) -> None:
    if unknown := [name for name in given if name not in allowed]:
        raise Failure(f"{where}: unknown name {unknown[0]!r}{_near(unknown[0], sorted(allowed))}")


def _near(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, known) or f": use {', '.join(known)}"


S = TypeVar("S", Endpoint, PromptSettings, Role, Tls)


def _read(kind: type[S], settings: object, where: str) -> S:
    table = _table(settings, where)
    _check_names(table, {each.name for each in fields(kind)}, where)
    try:
        return TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in problem["loc"])
        raise Failure(f"{where}.{name}: {problem['msg']}, not {problem['input']!r}") from error


def _check_batches(endpoint: Endpoint, where: str) -> None:
    dialect = dialect_of(endpoint.dialect, endpoint.base_url, endpoint.model)
    if not dialect.batches:
        raise Failure(f"{where}: the dialect {dialect.name} has no batches that we know: remove batch")
    if endpoint.batch_size > (most := BATCH_FORMS[dialect.batches].requests):
        raise Failure(f"{where}: batch_size {endpoint.batch_size:,} is more than a batch holds: use at most {most:,}")


def _check_url(url: str, where: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Failure(f"{where}: {url!r} is not a URL: use e.g. https://api.example.com/v1")
    if parts.username or parts.password:
        raise Failure(f"{where}: base_url must not contain a user name or a password: use key_file")
