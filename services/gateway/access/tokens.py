"""Decides who may call, in which role, and what a role may do: by the file of tokens, and the table of `roles.toml`.

The file holds digests, not tokens.
"""

import hashlib
import hmac
import logging
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AwareDatetime, ConfigDict, StringConstraints, TypeAdapter, ValidationError, with_config

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text, table_beside

Role = Literal["reader", "operator"]
# Each role may do everything that the roles before it may.
ROLES: tuple[Role, ...] = get_args(Role)

_ACTIONS: dict[str, list[str]] = table_beside(__file__, "roles.toml")
ROLE_OF: dict[str, Role] = {action: role for role in ROLES for action in _ACTIONS[role]}
# How soon a change of the file takes effect.
CHECK_SECONDS = 1.0
_ADVICE = {
    "name": "use up to 64 letters, digits, dots, dashes, spaces, @ and underscores",
    "role": f"use {' or '.join(ROLES)}",
    "sha256": "write the 64 lower-case hexadecimal digits of the token's digest",
    "expires": "use a time with its zone, e.g. 2030-01-31T00:00:00Z",
}
_HINT = "each [[token]] has a name, a role and the sha256 of the token"

_log = logging.getLogger(__name__)


def allowed(role: Role, action: str) -> bool:
    needed = ROLE_OF.get(action)
    return needed is not None and ROLES.index(role) >= ROLES.index(needed)


def is_steering(action: str) -> bool:
    return ROLE_OF.get(action) == "operator"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    # Also the common name of a client's certificate.
    name: Annotated[str, StringConstraints(pattern=r"^[\w.@ -]{1,64}$")]
    role: Role
    # Empty for a caller who has only a certificate.
    sha256: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    # From then on the entry admits nobody.
    expires: AwareDatetime | None = None


_ENTRIES = TypeAdapter(list[Token])


class TokenFile:
    """Reads its file again when it changes; an unreadable file leaves the last entries in force."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock
        self._checked = clock()
        self._version = _file_version(file)
        self._entries = read_tokens(file)

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

    def _current(self) -> list[Token]:
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            if (version := _file_version(self._file)) != self._version:
                self._version = version
                try:
                    self._entries = read_tokens(self._file)
                    _log.info("%s: read %d tokens again", self._file, len(self._entries))
                except Failure as error:
                    _log.error("%s: the previous tokens stay in force", error)
        today = datetime.now(UTC)
        return [entry for entry in self._entries if entry.expires is None or today < entry.expires]


def read_tokens(file: Path) -> list[Token]:
    try:
        table = tomllib.loads(read_regular_text(file))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{file} cannot be read ({error}): {_HINT}") from error
    if unknown := sorted(table.keys() - {"token"}):
        raise Failure(f"{file}: unknown entry {unknown[0]!r}: {_HINT}")
    entries: list[dict[str, Any]] = table.get("token") or []
    try:
        tokens = _ENTRIES.validate_python(entries)
    except ValidationError as error:
        raise Failure(f"{file}: {_fault(error)}") from error
    if not tokens:
        raise Failure(f"{file} has no [[token]], so nobody could sign in: {_HINT}")
    names = [token.name for token in tokens]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Failure(f"{file}: two tokens are named {twice!r}: use unique names")
    digests = [token.sha256 for token in tokens if token.sha256]
    if len(set(digests)) < len(digests):
        raise Failure(f"{file}: two entries have the same sha256: use unique tokens")
    return tokens


def _fault(error: ValidationError) -> str:
    """Describes the first fault without its value, which may be a token written in place of its digest."""
    [first, *_] = error.errors(include_input=False, include_url=False)
    place, *field = first["loc"] or ("?",)
    entry = f"token {place + 1}" if isinstance(place, int) else "the tokens"
    match field:
        case [str(name), *_] if name in _ADVICE:
            return f"{entry}: invalid {name}: {_ADVICE[name]}"
        case [str(name)]:
            return f"{entry}: unknown field {name!r}: {_HINT}"
        case _:
            return f"{entry} is not a table: {_HINT}"


def _file_version(file: Path) -> tuple[int, ...]:
    """Changes whenever the file does, without reading it."""
    try:
        status = file.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
