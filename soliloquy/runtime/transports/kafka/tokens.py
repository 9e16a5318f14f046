"""Tokens for SASL/OAUTHBEARER: from a file that somebody renews, or from an authority by a client's credentials."""

import base64
import functools
import re
import time
from pathlib import Path
from urllib.parse import quote

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

from soliloquy.runtime.authority import NoAnswer, ask
from soliloquy.runtime.files import parsed_json, read_regular_text
from soliloquy.runtime.transports.kafka import KafkaSettings

# A token is requested again when this share of its life is over.
_RENEW_AT = 0.8
_TOKEN = re.compile(r"[\w.~+/=-]+", re.ASCII)


class NoToken(KafkaConnectionError):
    """There is no token to log in with; the client tries again."""


@functools.cache
def token_provider(settings: KafkaSettings) -> AbstractTokenProvider | None:
    """Returns what the clients of these settings share; None without OAUTHBEARER."""
    if not settings.sasl or settings.mechanism != "OAUTHBEARER":
        return None
    return _TokenFile(settings.token_file) if settings.token_file else _ClientCredentials(settings)


class _TokenFile(AbstractTokenProvider):
    def __init__(self, file: Path) -> None:
        self._file = file

    async def token(self) -> str:
        """Reads the file anew for each connection."""
        try:
            return _checked(read_regular_text(self._file).strip(), str(self._file))
        except (OSError, UnicodeDecodeError) as error:
            raise NoToken(f"cannot read a token from {self._file} ({error})") from error


class _ClientCredentials(AbstractTokenProvider):
    """The client credentials grant of RFC 6749."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._token = ""
        self._renew_at = 0.0

    async def token(self) -> str:
        if time.monotonic() >= self._renew_at:
            asked_at = time.monotonic()
            self._token, seconds = await self._request()
            self._renew_at = asked_at + _RENEW_AT * seconds
        return self._token

    async def _request(self) -> tuple[str, float]:
        settings, url = self._settings, self._settings.token_url
        form = {"grant_type": "client_credentials"} | ({"scope": settings.token_scope} if settings.token_scope else {})
        login = ":".join(quote(word, safe="") for word in (settings.username, settings.password))
        headers = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        try:
            status, content = await ask(url, form=form, headers=headers)
        except NoAnswer as error:
            raise NoToken(f"{url} gives no token ({error})") from error
        try:
            told = parsed_json(content)
            token, seconds = told["access_token"], float(told.get("expires_in", 0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoToken(f"{url} gives no token: it answers {status}{_reason(content)}") from error
        return _checked(str(token), url), seconds


def _checked(token: str, source: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise NoToken(f"{source} holds no token: a token is one word of letters, digits and -._~+/=")
    return token


def _reason(content: bytes) -> str:
    """Returns the error of an authority that refuses; never its other words, which may hold a secret."""
    found = re.search(rb'"error"\s*:\s*"([\w.-]{1,80})"', content)
    return f" ({found[1].decode()})" if found else ""
