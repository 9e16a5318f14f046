"""Lists the services that touched a dataset's conversations, in its manifest."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from soliloquy.runtime.files import parsed_json
from soliloquy.v1.events_pb2 import ServiceDescribed

# The name of a service that no description tells.
UNKNOWN = "unknown"
# A row of the manifest: the digest, the service and its facts, and its conversations.
Row = dict[str, Any]
# By their digests.
Descriptions = Mapping[str, ServiceDescribed]
NONE_KNOWN: Descriptions = MappingProxyType({})


def listed(counts: Counter[str], described: Descriptions, earlier: Iterable[Row] = ()) -> list[Row]:
    """Returns a row for each digest, described as the earlier rows do where no description is known."""
    known = {row["digest"]: row for row in earlier} | {digest: _row(one) for digest, one in described.items()}
    rows = [
        {"service": UNKNOWN} | known.get(digest, {}) | {"digest": digest, "conversations": number}
        for digest, number in counts.items()
    ]
    return sorted(rows, key=lambda row: (str(row["service"]), row["digest"]))


def counted(rows: Iterable[Row], more: Counter[str]) -> Counter[str]:
    """Adds to the counts of the rows, of which none goes: it has what is known of its service."""
    counts = Counter({row["digest"]: row["conversations"] for row in rows})
    counts.update(more)
    return counts


def uncounted(rows: Iterable[Row]) -> list[Row]:
    return [row | {"conversations": 0} for row in rows]


def descriptions_in(rows: Iterable[Row]) -> list[ServiceDescribed]:
    """Returns the descriptions of the rows, with the digests that they had."""
    return [
        ServiceDescribed(
            service=row["service"],
            version=row.get("version", ""),
            image=row.get("image", ""),
            settings=as_settings(row["settings"]),
        )
        for row in rows
        if "settings" in row
    ]


# A property of a table with the facts of one service ends with its digest.
_PROPERTY = "soliloquy.service."


def as_properties(described: Descriptions) -> dict[str, str]:
    return {f"{_PROPERTY}{digest}": json.dumps(_row(one)) for digest, one in described.items()}


def from_properties(properties: Mapping[str, str]) -> list[Row]:
    return [
        json.loads(told) | {"digest": name.removeprefix(_PROPERTY), "conversations": 0}
        for name, told in properties.items()
        if name.startswith(_PROPERTY)
    ]


def as_settings(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def settings_of(described: ServiceDescribed) -> dict[str, Any]:
    """Returns nothing for a text that is no JSON: a service of another version may have written it."""
    try:
        settings = parsed_json(described.settings.encode())
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def _row(described: ServiceDescribed) -> Row:
    image = {"image": described.image} if described.image else {}
    return {"service": described.service, "version": described.version, **image, "settings": settings_of(described)}
