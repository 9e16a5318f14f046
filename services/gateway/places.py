"""The rows of conversations under way: an event of `run.standing` changes one of them."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from soliloquy.runtime.events import run_key
from soliloquy.runtime.places import Places
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy_services.gateway.database import Database


def changed(database: Database, connection: Connection, since: int) -> Iterable[tuple[str, int, int | None]]:
    """Returns the run, the place and the ordinal of each row that changed since a revision; of taken ones at first."""
    table = database["under_way"]
    chosen = table.c.revision > since if since >= 0 else table.c.ordinal.is_not(None)
    rows = select(table.c.run, table.c.place, table.c.ordinal).where(chosen)
    return ((row.run, row.place, row.ordinal) for row in connection.execute(rows))


def empty(database: Database, connection: Connection, revision: int, *runs: str) -> None:
    """Frees all places of these runs, or of every run."""
    table = database["under_way"]
    of_runs = (table.c.run.in_(runs),) if runs else ()
    connection.execute(update(table).where(*of_runs).values(ordinal=None, revision=revision))


def save(database: Database, connection: Connection, standings: Iterable[RunStanding], revision: int) -> None:
    table = database["under_way"]
    rows: dict[tuple[str, int], int | None] = {}
    for standing in standings:
        run, places = run_key(standing.run), Places()
        places.tell(standing)
        if standing.place:
            rows[run, standing.place] = None
        else:
            empty(database, connection, revision, run)
            rows = {place: None if place[0] == run else ordinal for place, ordinal in rows.items()}
        rows |= {(run, place): ordinal for place, ordinal in places.ordinals.items()}
    if rows:
        one = (table.c.run == bindparam("of"), table.c.place == bindparam("at"))
        connection.execute(delete(table).where(*one), [{"of": run, "at": place} for run, place in rows])
        made = [
            {"run": run, "place": place, "ordinal": ordinal, "revision": revision}
            for (run, place), ordinal in rows.items()
        ]
        connection.execute(insert(table), made)
