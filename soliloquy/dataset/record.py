"""The records of runs beside their datasets: a request and its latest state, which outlive the topics."""

from collections.abc import Iterator

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from soliloquy.dataset.layout import TABLES
from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.events_pb2 import RunChanged

RECORD = "run.json"


def record_text(changed: RunChanged) -> str:
    return MessageToJson(changed, preserving_proto_field_name=True, sort_keys=True) + "\n"


def as_record(text: str | bytes) -> RunChanged:
    """Raises ParseError."""
    return Parse(text, RunChanged(), ignore_unknown_fields=True)


def write_record(place: Storage, changed: RunChanged) -> None:
    """Leaves out a run whose counts are final and whose dataset is gone: its owner may have moved it."""
    content, before = record_text(changed).encode(), place.read(RECORD)
    is_gone = before is None and changed.HasField("progress") and place.read(MANIFEST) is None
    if before != content and not is_gone:
        place.write(RECORD, content)


def records(store: str) -> Iterator[tuple[str, RunChanged | None]]:
    """Yields the name of each dataset of a store with its record, None for a run that the gateway did not start.

    Raises UnreadableManifest.
    """
    for name, text in _texts(store):
        try:
            yield name, as_record(text) if text else None
        except ParseError as error:
            raise UnreadableManifest(f"the record of {store}/{name} cannot be read ({error})") from error


def _texts(store: str) -> Iterator[tuple[str, str | bytes | None]]:
    if store.startswith(TABLES):
        # Imported here because only tables need it.
        from soliloquy.dataset.iceberg.tables import Location, Tables, attempt

        location = Location.parsed(store)
        runs = Tables.opened(location).runs
        rows = attempt(location, lambda: runs.scan(selected_fields=("dataset", "record")).to_arrow())
        yield from sorted((row["dataset"], row["record"]) for row in rows.to_pylist())
        return
    for name in Storage(store).folders():
        yield name, Storage(f"{store}/{name}").read(RECORD)
