"""The file of tokens: who there is, and what each may do. It holds digests, from which nobody gets a token back."""

import hashlib
import hmac
import logging
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError, with_config

from services.gateway.access.roles import ROLES, Role

# A change of the file shows so soon.
LOOK_SECONDS = 1.0
_HINT = "each [[token]] has a name, a role and the sha256 of the token"

_log = logging.getLogger(__name__)


class BadTokens(ValueError):
    """The file of tokens cannot be used; the message names the entry and what is allowed there."""


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    # Also the common name of a client's certificate.
    name: Annotated[str, StringConstraints(pattern=r"^[\w.@ -]{1,64}$")]
    role: Role
    # Empty for who comes with a certificate only.
    sha256: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""


_ENTRIES = TypeAdapter(list[Token])


class Tokens:
    """Looks whether its file changed when it is asked; what was last readable holds until another can be read."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock
        self._looked = clock()
        self._seen = _seen(file)
        self._entries = read_tokens(file)

    def with_token(self, token: str) -> Token | None:
        """All are compared, each in the same time: how long it takes tells nothing."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = None
        for entry in self._current():
            if hmac.compare_digest(entry.sha256.encode(), digest.encode()):
                found = entry
        return found

    def with_name(self, name: str) -> Token | None:
        return next((entry for entry in self._current() if entry.name == name), None)

    def _current(self) -> list[Token]:
        now = self._clock()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            if (seen := _seen(self._file)) != self._seen:
                self._seen = seen
                try:
                    self._entries = read_tokens(self._file)
                    _log.info("%s was read again: %d tokens", self._file, len(self._entries))
                except BadTokens as error:
                    _log.error("%s: the tokens that were there before hold", error)
        return self._entries


def read_tokens(file: Path) -> list[Token]:
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadTokens(f"{file} holds no tokens ({error}): {_HINT}") from error
    if strange := sorted(table.keys() - {"token"}):
        raise BadTokens(f"{file}: there is no entry {strange[0]!r}: {_HINT}")
    entries: list[dict[str, Any]] = table.get("token") or []
    try:
        tokens = _ENTRIES.validate_python(entries)
    except ValidationError as error:
        raise BadTokens(f"{file}: {_told(error)}") from error
    if not tokens:
        raise BadTokens(f"{file} holds no [[token]]: nobody could sign in; {_HINT}")
    names = [token.name for token in tokens]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadTokens(f"{file}: two tokens are called {twice!r}: give each a name of its own")
    digests = [token.sha256 for token in tokens if token.sha256]
    if len(set(digests)) < len(digests):
        raise BadTokens(f"{file}: two entries have the same sha256: give each a token of its own")
    return tokens


def _told(error: ValidationError) -> str:
    """The first fault, without the value: it may be a token in the place of its digest."""
    [first, *_] = error.errors(include_input=False, include_url=False)
    place, *field = first["loc"] or ("?",)
    entry = f"token {place + 1}" if isinstance(place, int) else "the tokens"
    match field:
        case ["role"]:
            return f"{entry}: its role is none: {' or '.join(ROLES)}"
        case ["sha256"]:
            return (
                f"{entry}: its sha256 is none: write the 64 hexadecimal digits of the token's digest, in small letters"
            )
        case ["name"]:
            return f"{entry}: it has no usable name: up to 64 letters, digits, dots, dashes, spaces and underscores"
        case [str(name)]:
            return f"{entry}: there is no field {name!r}: {_HINT}"
        case _:
            return f"{entry} is no table: {_HINT}"


def _seen(file: Path) -> tuple[int, ...]:
    """Tells one content of the file from another without reading it."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
