"""The record of a run beside its dataset: its request and its latest state, which outlive the topics."""

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.events_pb2 import RunChanged

RECORD = "run.json"


def write_record(place: Storage, changed: RunChanged) -> None:
    """Leaves out a run whose counts are final and whose dataset is gone: its owner may have moved it."""
    content = MessageToJson(changed, preserving_proto_field_name=True, sort_keys=True).encode() + b"\n"
    before = place.read(RECORD)
    is_gone = before is None and changed.HasField("progress") and place.read(MANIFEST) is None
    if before != content and not is_gone:
        place.write(RECORD, content)


def read_record(place: Storage) -> RunChanged | None:
    """Returns None for a run that the gateway did not start; raises UnreadableManifest."""
    content = place.read(RECORD)
    try:
        return None if content is None else Parse(content, RunChanged(), ignore_unknown_fields=True)
    except ParseError as error:
        raise UnreadableManifest(f"{place}/{RECORD} cannot be read as the record of a run ({error})") from error
