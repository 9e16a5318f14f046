"""Asks an authority of tokens, such as an OpenID provider, over HTTP."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp

ANSWER_SECONDS = 10.0
_MOST_BYTES = 256 * 1024
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NoAnswer(Exception):
    """The authority cannot be reached, or answers too much."""


def is_safe(url: str) -> bool:
    """Whether a secret may be sent there, and what comes from there may be trusted."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname in _LOOPBACK
    )


async def ask(
    url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Returns the status and the content; sends a form if there is one. Raises NoAnswer."""
    content = b""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(ANSWER_SECONDS), trust_env=True) as session,
            # The form and the headers are for this address alone.
            session.request(
                "GET" if form is None else "POST", url, data=form, headers=headers, allow_redirects=False
            ) as response,
        ):
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > _MOST_BYTES:
                    raise NoAnswer(f"its answer is longer than {_MOST_BYTES:,} bytes")
            return response.status, content
    except (aiohttp.ClientError, TimeoutError) as error:
        raise NoAnswer(str(error) or type(error).__name__) from error
