"""The lease on the database: of several gateways, the one that holds it counts events and drives runs."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from contextlib import suppress

from sqlalchemy import Connection, Row, select, update

from soliloquy.runtime.transports.port import Unanswered
from soliloquy_services.gateway.database import Database, DatabaseUnavailable

# Another gateway takes the lease when its holder has been silent for so long.
LEASE_SECONDS = 3.0
RENEWAL_SECONDS = 1.0
# How often the others look whether it is free.
LOOK_SECONDS = 0.5


class Overtaken(Unanswered):
    """Another gateway counts events and drives runs, or the topic was made anew."""


class Lease:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = secrets.token_hex(8)
        self.taken, self.lost = asyncio.Event(), asyncio.Event()

    @property
    def is_held(self) -> bool:
        return self.taken.is_set()

    async def keep(self) -> None:
        """Takes the lease whenever it is free, and renews it."""
        while True:
            # While the database does not answer, nobody else gets it either.
            with suppress(DatabaseUnavailable):
                is_held = await self._database.call(self.take)
                (self.taken if is_held else self.lost).set()
                (self.lost if is_held else self.taken).clear()
            await asyncio.sleep(RENEWAL_SECONDS if self.is_held else LOOK_SECONDS)

    async def take_turns(self, lead: Callable[[], Coroutine[None, None, None]]) -> None:
        """Calls `lead` whenever this gateway has taken it, and cancels that call when it is lost."""
        while True:
            await self.taken.wait()
            async with asyncio.TaskGroup() as tasks:
                leading = tasks.create_task(lead())
                await self.lost.wait()
                leading.cancel()

    async def release(self) -> None:
        # Without an answer the others wait until its time is over.
        with suppress(DatabaseUnavailable):
            await self._database.call(self._release)

    def take(self) -> bool:
        """Returns whether this gateway holds it from now on."""
        with self._database.reading() as connection:
            if not self._may_take(connection):
                return False
        with self._database.writing() as connection:
            if is_held := self._may_take(connection):
                until = self._database.now(connection) + LEASE_SECONDS
                connection.execute(update(self._database["lease"]).values(holder=self._holder, until=until))
        return is_held

    def _release(self) -> None:
        with self._database.writing() as connection:
            lease = self._database["lease"]
            connection.execute(update(lease).where(lease.c.holder == self._holder).values(until=0))

    def check(self, connection: Connection) -> None:
        """Raises Overtaken if another gateway has taken it, even if this one has not noticed."""
        if self._row(connection).holder != self._holder:
            raise Overtaken("another gateway counts events and drives runs now")

    def _may_take(self, connection: Connection) -> bool:
        row, now = self._row(connection), self._database.now(connection)
        # A time that no holder writes is one from before the clock was set back.
        return row.holder == self._holder or not now < row.until <= now + LEASE_SECONDS

    def _row(self, connection: Connection) -> Row[tuple[str, float]]:
        return connection.execute(select(self._database["lease"])).one()
