"""Decides who may call, in which role and for which tenant: by the file of tokens and groups, and `roles.toml`.

The file holds digests, not tokens.
"""

import hashlib
import hmac
import time
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    with_config,
)

from soliloquy.runtime.authority import is_safe
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text, table_beside
from soliloquy.runtime.validated_file import WatchedFile

Role = Literal["annotator", "reader", "operator"]
# Each role may do everything that the roles before it may.
ROLES: tuple[Role, ...] = get_args(Role)

_ACTIONS: dict[str, list[str]] = table_beside(__file__, "roles.toml")
# Calls that are refused to a tenant.
INSTALLATION = frozenset(_ACTIONS["installation"])
ROLE_OF: dict[str, Role] = {action: role for role in ROLES for action in _ACTIONS[role]}
ROLE_OF |= dict.fromkeys(_ACTIONS["investigation"], "operator")
_ADVICE = {
    "name": "use up to 64 letters, digits, dots, dashes, spaces, @ and underscores",
    "role": f"use {', '.join(ROLES[:-1])} or {ROLES[-1]}",
    "tenant": "use up to 40 lower-case letters, digits and dashes, beginning with a letter or a digit",
    "sha256": "write the 64 lower-case hexadecimal digits of the token's digest",
    "expires": "use a time with its zone, e.g. 2030-01-31T00:00:00Z",
    "issuer": "use the provider's https address as its discovery document has it, e.g. https://login.example/realms/lab",
    "audience": "use the id that the provider gave the gateway as its client",
}
_HINT = (
    "each [[token]] has a name, a role and the sha256 of the token, "
    "each [[group]] a name and a role, and [oidc] an issuer and an audience"
)


def allowed(role: Role, action: str) -> bool:
    needed = ROLE_OF.get(action)
    return needed is not None and ROLES.index(role) >= ROLES.index(needed)


def is_steering(action: str) -> bool:
    return action in _ACTIONS["operator"]


def is_audited(action: str) -> bool:
    return is_steering(action) or action in _ACTIONS["audited"]


_forbidding = with_config(ConfigDict(extra="forbid"))
Tenant = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9-]{0,39})?$")]


def _safe(url: str) -> str:
    if not is_safe(url):
        raise ValueError("neither https nor this machine")
    return url


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Somebody who is admitted."""

    name: str
    role: Role
    # The one whose runs, files and models it sees; empty for everybody's.
    tenant: Tenant = ""


@_forbidding
@dataclass(frozen=True, kw_only=True, slots=True)
class Token(Caller):
    # Also the common name of a client's certificate.
    name: Annotated[str, StringConstraints(pattern=r"^[\w.@ -]{1,64}$")]
    # Empty for a caller who has only a certificate.
    sha256: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    # From then on the entry admits nobody.
    expires: AwareDatetime | None = None


@_forbidding
@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Admits the callers whose tokens of the provider name it."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    role: Role
    tenant: Tenant = ""


@_forbidding
@dataclass(frozen=True, kw_only=True, slots=True)
class Oidc:
    """An OpenID provider that signs tokens for the gateway."""

    issuer: Annotated[str, AfterValidator(_safe)]
    # The gateway's client id, which is among each token's audiences.
    audience: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    # The claims that hold a caller's groups, and the name by which people know it.
    groups: str = "groups"
    name: str = "preferred_username"
    # The scopes that a browser's sign-in asks for.
    scope: str = "openid profile"


@_forbidding
@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    token: Sequence[Token] = ()
    group: Sequence[Group] = ()
    oidc: Oidc | None = None


_ENTRIES = TypeAdapter(Entries)


class TokenFile:
    """Finds callers in a file, as it is now."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries = WatchedFile(file, read_tokens, "tokens", clock)
        # A change of the provider takes effect with the next start.
        self.oidc = self._entries.current.oidc

    def with_token(self, token: str) -> Token | None:
        """Compares all digests in constant time, so that the duration reveals nothing."""
        # JSON can hold half a surrogate pair, which no token has.
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        match = None
        for entry in self._current():
            if hmac.compare_digest(entry.sha256.encode(), digest.encode()):
                match = entry
        return match

    def with_name(self, name: str) -> Token | None:
        return next((entry for entry in self._current() if entry.name == name), None)

    def with_groups(self, name: str, groups: Collection[object]) -> Caller | None:
        """The first of the file's groups that is among these decides."""
        found = next((group for group in self._entries.current.group if group.name in groups), None)
        return Caller(name=name, role=found.role, tenant=found.tenant) if found else None

    def _current(self) -> list[Token]:
        today = datetime.now(UTC)
        return [entry for entry in self._entries.current.token if entry.expires is None or today < entry.expires]


def read_tokens(file: Path) -> Entries:
    try:
        table = tomllib.loads(read_regular_text(file))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{file} cannot be read ({error}): {_HINT}") from error
    try:
        entries = _ENTRIES.validate_python(table)
    except ValidationError as error:
        raise Failure(f"{file}: {_fault(error)}") from error
    if not entries.token and not entries.group:
        raise Failure(f"{file} has no [[token]] and no [[group]], so nobody could sign in: {_HINT}")
    if bool(entries.group) != bool(entries.oidc):
        has, lacks = ("a [[group]]", "[oidc]") if entries.group else ("[oidc]", "[[group]]")
        raise Failure(f"{file} has {has} and no {lacks}, so no group could sign in: {_HINT}")
    for kind, named in (("tokens", entries.token), ("groups", entries.group)):
        names = [entry.name for entry in named]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Failure(f"{file}: two {kind} are named {twice!r}: use unique names")
    digests = [token.sha256 for token in entries.token if token.sha256]
    if len(set(digests)) < len(digests):
        raise Failure(f"{file}: two entries have the same sha256: use unique tokens")
    return entries


def _fault(error: ValidationError) -> str:
    """Describes the first fault without its value, which may be a token written in place of its digest."""
    [first, *_] = error.errors(include_input=False, include_url=False)
    match first["loc"]:
        case ("token" | "group" as kind, int(place), str(field), *_):
            return f"{kind} {place + 1}: {_fault_of(field)}"
        case ("oidc", str(field), *_):
            return f"oidc: {_fault_of(field)}"
        case ("token" | "group" | "oidc" as kind, *_):
            return f"{kind} is not written as a table: {_HINT}"
        case (unknown, *_):
            return f"unknown entry {unknown!r}: {_HINT}"
        case _:
            return _HINT


def _fault_of(field: str) -> str:
    return f"invalid {field}: {_ADVICE[field]}" if field in _ADVICE else f"unknown field {field!r}: {_HINT}"
