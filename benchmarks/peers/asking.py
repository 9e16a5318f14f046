"""Says what every peer asks, and times each; it runs in environments that hold nothing of this project."""

import json
import os
import sys
import time
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


def prompt(role: str, conversation: object, last: object) -> str:
    return f"You are the {role} of conversation {conversation}. {'Be brief and kind. ' * 40}Answer to this: {last}"


@contextmanager
def measured() -> Iterator[Job]:
    """Reads the job from the command line and prints what it took, without the imports before it."""
    url, conversations, at_once, folder = sys.argv[1:]
    began, cpu = time.perf_counter(), sum(os.times()[:4])
    yield Job(url, int(conversations), int(at_once), Path(folder))
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu_seconds": sum(os.times()[:4]) - cpu}))
