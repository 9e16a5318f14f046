"""Tells the operator's webhooks of the end of each run, at least once, signed as Standard Webhooks says."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import aiohttp
from sqlalchemy import Connection, Row, delete, insert, select, update

from soliloquy.runtime.events import run_key
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import digest, draw
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy_services.gateway.database import Database, DatabaseUnavailable
from soliloquy_services.gateway.runs import OVER, state_name
from soliloquy_services.gateway.settings import WebhookSettings

LOOK_SECONDS = 1.0
# An endpoint that has not answered by then is asked again later.
ANSWER_SECONDS = 10.0
# The first pause, which doubles up to the longest, and when an endpoint is given up.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, GIVEN_UP_SECONDS = 5.0, 3600.0, 24 * 3600.0
# The messages to one URL that wait for an answer at once, and the characters of an error in the log.
_AT_ONCE, _MOST_CHARACTERS = 8, 200
_PREFIX = "whsec_"

_log = logging.getLogger(__name__)


def key_of(secret: str) -> bytes:
    """Returns the bytes that sign; raises Failure. A secret of Standard Webhooks, `whsec_..`, is base64."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise Failure(f"the webhooks' secret is not base64 after {_PREFIX}: copy it again, or use another") from error


def signature(key: bytes, message_id: str, timestamp: int, body: str) -> str:
    signed = hmac.digest(key, f"{message_id}.{timestamp}.{body}".encode(), hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


class Outbox:
    """Keeps what is still to be sent in the gateway's database. Its methods block."""

    def __init__(self, database: Database, urls: Sequence[str]) -> None:
        self._database = database
        self.call = database.call
        self._urls = urls

    def tell(self, connection: Connection, changed: RunChanged, before: RunChanged) -> None:
        """Adds a message to each webhook if the change is the end of the run, in the change's transaction."""
        if changed.state not in OVER or before.state in OVER:
            return
        table, body = self._database["webhooks"], _body(changed)
        now = time.time()
        for url in dict.fromkeys(self._urls):
            named = {"id": f"msg_{digest(url, body)}", "url": url, "body": body}
            connection.execute(insert(table), {**named, "since": now, "due": now, "attempts": 0})

    def due(self) -> list[Row[Any]]:
        """Returns the messages that are due; those to a URL that is no webhook any more go."""
        table = self._database["webhooks"]
        with self._database.reading() as connection:
            rows = list(connection.execute(select(table).where(table.c.due <= time.time()).order_by(table.c.due)))
        for row in rows:
            if row.url not in self._urls:
                self.remove(row.id)
        return [row for row in rows if row.url in self._urls]

    def remove(self, message_id: str) -> None:
        table = self._database["webhooks"]
        with self._database.writing() as connection:
            connection.execute(delete(table).where(table.c.id == message_id))

    def postpone(self, message_id: str, attempts: int, due: float) -> None:
        table = self._database["webhooks"]
        with self._database.writing() as connection:
            connection.execute(update(table).where(table.c.id == message_id).values(attempts=attempts, due=due))


class Webhooks:
    """One gateway at a time sends, and nothing else waits for it."""

    def __init__(self, outbox: Outbox, settings: WebhookSettings) -> None:
        """Raises Failure for a secret that cannot sign."""
        self._outbox = outbox
        self._key = key_of(settings.secret)
        self._urls = settings.urls

    async def send_always(self) -> None:
        if not self._urls:
            return
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=jar) as session, asyncio.TaskGroup() as tasks:
            sending: dict[str, asyncio.Task[None]] = {}
            while True:
                with suppress(DatabaseUnavailable):
                    by_url = defaultdict(list)
                    for row in await self._outbox.call(self._outbox.due):
                        by_url[row.url].append(row)
                    # One that does not answer holds up no other.
                    for url, rows in by_url.items():
                        if url not in sending or sending[url].done():
                            sending[url] = tasks.create_task(self._send_all(session, rows[:_AT_ONCE]))
                await asyncio.sleep(LOOK_SECONDS)

    async def _send_all(self, session: aiohttp.ClientSession, rows: Sequence[Row[Any]]) -> None:
        await asyncio.gather(*(self._send(session, row) for row in rows))

    async def _send(self, session: aiohttp.ClientSession, row: Row[Any]) -> None:
        timestamp = int(time.time())
        headers = {
            "content-type": "application/json",
            "webhook-id": row.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(self._key, row.id, timestamp, row.body),
        }
        try:
            async with session.post(row.url, data=row.body.encode(), headers=headers, allow_redirects=False) as answer:
                error = "" if 200 <= answer.status < 300 else f"status {answer.status}"
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as fault:
            error = f"{type(fault).__name__}: {fault}"[:_MOST_CHARACTERS]
        # Without an answer of the database it is sent again.
        with suppress(DatabaseUnavailable):
            await self._outbox.call(self._settle, row, error)

    def _settle(self, row: Row[Any], error: str) -> None:
        fields = {"webhook": row.url, "message": row.id, "attempt": row.attempts + 1, "error": error}
        if not error:
            self._outbox.remove(row.id)
        elif time.time() - row.since >= GIVEN_UP_SECONDS:
            _log.error("a webhook is given up: it took no message for a day", extra={"fields": fields})
            self._outbox.remove(row.id)
        else:
            _log.warning("a webhook did not take a message, which is sent again later", extra={"fields": fields})
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**row.attempts)
            jitter = draw("webhook", row.id, row.attempts).random() / 2
            self._outbox.postpone(row.id, row.attempts + 1, time.time() + pause * (1 - jitter))


def _body(changed: RunChanged) -> str:
    progress = changed.progress
    state = state_name(changed.state)
    data = {
        "run": run_key(changed.run),
        "name": changed.name,
        "state": state,
        "because": changed.because,
        "tenant": changed.tenant,
        "accepted": progress.accepted,
        "rejected": progress.rejected,
        "requested_at": changed.requested_at,
        "changed_at": changed.changed_at,
    }
    at = datetime.fromtimestamp(changed.changed_at, UTC).isoformat()
    return json.dumps({"type": f"run.{state}", "timestamp": at, "data": data})
