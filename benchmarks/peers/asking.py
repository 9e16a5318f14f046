"""Says what every peer asks, and measures each; it runs in environments that hold nothing of this project."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# Each asks with the answer to the one before.
ROLES = ("student", "tutor", "student", "tutor")
MODEL = "scripted"


class Job(NamedTuple):
    url: str
    conversations: int
    at_once: int
    folder: Path


def prompt(place: int, conversation: object, last: object) -> str:
    """Returns the prompt of an answer, which differs from every other: the endpoint counts those that come twice."""
    who = f"You are the {ROLES[place]} of conversation {conversation} and write message {place}."
    return f"{who} {'Be brief and kind. ' * 40}Answer to this: {last}"


@contextmanager
def measured() -> Iterator[Job]:
    """Reads the job from the command line and prints its CPU seconds, without those of the imports before it."""
    url, conversations, at_once, folder = sys.argv[1:]
    before = sum(os.times()[:4])
    yield Job(url, int(conversations), int(at_once), Path(folder))
    print(sum(os.times()[:4]) - before)
