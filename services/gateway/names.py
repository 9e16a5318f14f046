"""Names runs for people."""

from collections.abc import Collection

from soliloquy.v1.runs_pb2 import RunRequest

LONGEST_NAME = 80


def name_of(request: RunRequest, taken: Collection[str]) -> str:
    """Returns the requested name or else one made of the settings, with a number if another run has it."""
    if request.name:
        return request.name
    name, number = default_name(request), 1
    while (numbered := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return numbered


def default_name(request: RunRequest) -> str:
    conversations = "conversation" if request.conversations == 1 else "conversations"
    return f"{request.problems[:LONGEST_NAME]}, {request.conversations:,} {conversations}"
