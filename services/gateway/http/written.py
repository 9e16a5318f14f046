"""The comments of the contract, where they stand: what messages, fields and rpcs are, in the words of their files."""

import functools
import re
from collections.abc import Iterator
from importlib.resources import files

_OPENS = re.compile(r"(message|enum|service) (\w+) \{")
_NAMES = re.compile(r"(?:rpc (\w+)|(?:repeated |optional )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+|([A-Z]\w*) = \d+)")


@functools.cache
def comments() -> dict[str, str]:
    """By "RunStatus" and by "RunStatus.because"; what has none is not there."""
    contract = files("soliloquy.v1")
    texts = [file.read_text("utf-8") for file in contract.iterdir() if file.name.endswith(".proto")]
    return {name: comment for text in texts for name, comment in _commented(text)}


def _commented(text: str) -> Iterator[tuple[str, str]]:
    within, said = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//"):
            said.append(line.removeprefix("//").strip())
            continue
        if opened := _OPENS.match(line):
            within = opened[2]
            yield from [(within, " ".join(said))] if said else []
        elif (named := _NAMES.match(line)) and said:
            yield f"{within}.{named[1] or named[2] or named[3]}", " ".join(said)
        said = []
