"""The API keys of endpoints."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text
from soliloquy.runtime.model.settings import Endpoint

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
# Local servers are given any word as their key: "x", "none", "EMPTY", "ollama".
_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Key:
    """An endpoint's API key, which is never shown; empty for an endpoint without one."""

    secret: str = field(repr=False)
    # The environment variable or file that holds it.
    place: str

    def without(self, said: bytes) -> bytes:
        """Redacts the key in an endpoint's response, which may repeat it, but no placeholder: it may be any word."""
        return said.replace(self.secret.encode(), b"[key]") if len(self.secret) >= _SHORTEST_SECRET else said


def key_of(endpoint: Endpoint, where: str, environment: Mapping[str, str] = os.environ) -> Key:
    if endpoint.key_file:
        return read_key(endpoint.key_file, f"{where}: ")
    place = endpoint.key_variable or DEFAULT_KEY_VARIABLE
    secret = environment.get(place, "").strip()
    if endpoint.key_variable and not secret:
        raise Failure(f"{where}: {place} is not set: set it to the key of the endpoint")
    return checked_key(secret, place, f"{where}: ")


def read_key(file: Path, where: str = "") -> Key:
    try:
        secret = read_regular_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{where}cannot read a key from {file} ({error})") from error
    if not secret:
        raise Failure(f"{where}{file} holds no key")
    return checked_key(secret, str(file), where)


def checked_key(secret: str, place: str, where: str = "") -> Key:
    """Raises Failure for a text that no header can carry."""
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise Failure(f"{where}{place} holds no key: a key has no blanks or line breaks")
    return Key(secret, place)
