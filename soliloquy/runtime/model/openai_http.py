"""The connection to an endpoint with OpenAI's API: its address, its key, and what its failures mean."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from soliloquy.runtime.model import ModelRefused, faults
from soliloquy.runtime.model.dialects import BatchForm, Dialect
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_format import MAX_WORDS, MOST_ANSWER_BYTES, within
from soliloquy.runtime.model.settings import Endpoint, described

CONNECT_SECONDS = 10.0
_UNKNOWN_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """An endpoint's answer to a request."""

    status: int
    content: bytes
    # Whether it is a web page.
    is_page: bool = False
    # Seconds that it asks to wait.
    after: float = 0.0


class OpenAIConnection:
    """Must be created inside the event loop that uses it."""

    def __init__(
        self, name: str, endpoint: Endpoint, key: Key, dialect: Dialect, form: BatchForm | None = None
    ) -> None:
        """`form` is that of the batches that the connection is for."""
        self.where = described(name, endpoint)
        self.key = key
        self._base_url = endpoint.base_url
        # Whether it has ever answered: its host then exists, even when a name server forgets it.
        self._was_reached = False
        # Compressed answers could be far larger than what arrives.
        headers = {"Accept-Encoding": "identity", **(form.headers if form else {})}
        if key.secret:
            name = (form and form.key_header) or dialect.key_header
            headers[name] = ("Bearer " if name == "Authorization" else "") + key.secret
        self._session = aiohttp.ClientSession(
            headers=headers,
            # The gate limits concurrency.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    def url(self, path: str) -> str:
        """Returns the URL of a path; Azure's addresses end in a query."""
        base, question, query = self._base_url.partition("?")
        return base.rstrip("/") + path + question + query

    @asynccontextmanager
    async def request(self, method: str, path: str, **how: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yields the response, whatever its status. Raises RetryableFault or EndpointRefuses, also while it is read."""
        try:
            async with self._session.request(method, self.url(path), allow_redirects=False, **how) as response:
                self._was_reached = True
                _require_plain(response)
                yield response
        except (aiohttp.InvalidURL, UnicodeError) as error:
            raise faults.EndpointRefuses(f"{self.where} has an invalid address: check it ({error})") from error
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorDNSError) as error:
            raise self._unreachable(error) from error
        except aiohttp.ClientConnectorError as error:
            raise faults.Unreachable(_connection(error)) from error
        except aiohttp.ServerTimeoutError as error:
            raise faults.Unreachable(str(error)) from error
        except (aiohttp.ClientError, LineTooLong) as error:
            raise faults.InvalidAnswer(f"the connection broke ({type(error).__name__})") from error

    async def content(self, response: aiohttp.ClientResponse) -> bytes:
        """Reads a body of limited length, without the key that it may repeat."""
        pieces = [piece async for piece in within(response.content.iter_any(), MOST_ANSWER_BYTES)]
        return self.key.without(b"".join(pieces))

    def fault(self, status: int, details: str, after: float, *, serves: str = "chat completions") -> Exception:
        """Returns what a status that is no success means."""
        match status:
            case 401 | 403 if self.key.secret:
                return faults.EndpointRefuses(f"{self.where} refuses the key in {self.key.place} ({details})")
            case 401 | 403:
                return faults.EndpointRefuses(f"{self.where} requires a key: put it in {self.key.place} ({details})")
            case 402 | 429 if status == 402 or "insufficient_quota" in details:
                return faults.EndpointRefuses(
                    f"{self.where}: quota exhausted ({details}): add credit to the account or switch endpoints"
                )
            case 405 | 501 | 300 | 301 | 302 | 303 | 307 | 308:
                return faults.EndpointRefuses(f"{self.where} serves no {serves} ({details}): check the address")
            case 429:
                return faults.Throttled(details, after)
            case 408:
                return faults.TimedOut(details, after)
            case 503 | 529:
                return faults.Overloaded(details, after)
            case _ if 400 <= status < 500 and status not in (409, 425):
                return ModelRefused(f"{self.where} refused ({details})")
            case _:
                return faults.Failing(details, after)

    async def close(self) -> None:
        await self._session.close()

    def _unreachable(self, error: aiohttp.ClientConnectorError) -> Exception:
        """Returns a fault that passes if the endpoint was reached before."""
        if self._was_reached:
            return faults.Unreachable(_connection(error))
        if isinstance(error, aiohttp.ClientSSLError):
            return faults.EndpointRefuses(f"{self.where} cannot be reached: check https and its certificate ({error})")
        if error.errno in _UNKNOWN_HOST:
            return faults.EndpointRefuses(f"{self.where} cannot be found: check the host's name ({_connection(error)})")
        return faults.Unreachable(_connection(error))


def _require_plain(response: aiohttp.ClientResponse) -> None:
    if encoding := response.headers.get("Content-Encoding", "").replace("identity", ""):
        raise faults.InvalidAnswer(f"the answer is compressed ({encoding[:MAX_WORDS]}) without a request for it")


def _connection(error: aiohttp.ClientConnectorError) -> str:
    reason = error.os_error.strerror or str(error.os_error) or "it closed the connection"
    return f"cannot connect to {error.host}:{error.port}: {reason}"
