"""An endpoint's API key, which is never shown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from soliloquy.runtime.model.settings import DEFAULT_KEY_VARIABLE, BadModelSettings, Endpoint


@dataclass(frozen=True, slots=True)
class Key:
    """Empty for an endpoint without a key."""

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
            raise BadModelSettings(f"{where}: no key can be read from {place} ({error})") from error
        if not secret:
            raise BadModelSettings(f"{where}: there is no key in {place}")
    else:
        place = endpoint.key_variable or DEFAULT_KEY_VARIABLE
        secret = environment.get(place, "").strip()
        if endpoint.key_variable and not secret:
            raise BadModelSettings(f"{where}: the environment has no {place}, which should hold the key")
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise BadModelSettings(f"{where}: what is in {place} is no key: it has blanks or line breaks in it")
    return Key(secret, place)
