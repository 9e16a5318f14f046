"""The store keeps who is under way in rows, of which an event changes one."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1.events_pb2 import RunStanding
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway import database
from soliloquy_services.gateway.store import Store

RUN, OTHER = Run(id="r", growing="g"), Run(id="other")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/gateway.db")) as made:
        made.open()
        made.lease.take()
        yield made


def take(store: Store, standings: Iterable[RunStanding]) -> None:
    positions = store.begin(RunStanding, "topic")
    received = [
        (Delivery(event=first_event(each, source="test", time=1.0), partition=Partition("t", 0), offset=offset), each)
        for offset, each in enumerate(standings, start=positions.get(0, 0))
    ]
    store.take(RunStanding, "topic", positions, received)


def told(store: Store, since: int = -1) -> dict[str, dict[int, int | None]]:
    return {run: news.known.places for run, news in store.news(since).items()}


def place(number: int, *ordinals: int, run: Run = RUN) -> RunStanding:
    return RunStanding(run=run, place=number, under_way=ordinals)


def test_a_gateway_is_told_the_places_that_changed_since_it_looked(store: Store) -> None:
    take(store, [place(1, 7), place(2, 8), place(1), place(3, 9), place(1, 4, run=OTHER), place(1, 10)])
    assert told(store) == {"r-g": {1: 10, 2: 8, 3: 9}, "other": {1: 4}}
    since = max(news.known.revision for news in store.news(-1).values())
    take(store, [place(2), place(5, 11)])
    assert told(store, since) == {"r-g": {2: None, 5: 11}}


def test_an_event_of_the_whole_run_takes_the_place_of_all_its_rows(store: Store) -> None:
    take(store, [place(1, 7), place(5, 8), place(1, 3, run=OTHER)])
    take(store, [place(4, 9), place(0, 30, 20), place(2)])
    assert told(store, 1) == {"r-g": {1: 20, 2: None, 4: None, 5: None}}


def test_a_topic_that_is_made_anew_frees_all_places(store: Store) -> None:
    take(store, [place(1, 7)])
    store.begin(RunStanding, "another")
    assert told(store, 1) == {"r-g": {1: None}}


def test_a_gateway_that_looks_for_the_first_time_is_told_no_free_place(store: Store) -> None:
    take(store, [place(1, 7), place(2, 8), place(1), place(1, 3, run=OTHER), place(1, run=OTHER)])
    assert told(store) == {"r-g": {2: 8}, "other": {}}


def test_an_earlier_database_reads_the_topic_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/gateway.db"
    with monkeypatch.context() as earlier:
        earlier.setattr(database, "MIGRATIONS", database.MIGRATIONS[:2])
        with closing(Store(url)) as store:
            store.open()
    with closing(sqlite3.connect(tmp_path / "gateway.db")) as connection, connection:
        connection.execute("INSERT INTO positions VALUES ('run.standing', 0, 'topic', 5)")
        connection.execute("INSERT INTO runs (run, unfit, flagged_accepted, flagged_rejected) VALUES ('r-g', 0, 0, 0)")
    with closing(Store(url)) as store:
        store.open()
        store.lease.take()
        assert store.begin(RunStanding, "topic") == {}
        assert told(store) == {"r-g": {}}
