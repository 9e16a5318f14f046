"""An installation of two tenants, one of which has something of everything that the gateway shows."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from soliloquy.runs.supervision import LOG
from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.events_pb2 import ProblemSubmitted
from soliloquy.v1.runs_pb2 import Run
from soliloquy_training.adapters.registry import Registry
from soliloquy_training.adapters.version import Version
from soliloquy_training.evaluation.report import write_report
from tests.e2e.consoles import Site, site
from tests.waiting import wait_until

# It is in every name and text of the other tenant.
MARK = "zirconium"
OURS, THEIRS = "the token of physics", "the token of chemistry"
PROBLEM = {
    "question": f"{MARK.title()} works: a shopper pushes a 20 kg trolley with 50 N. What is its acceleration?",
    "solution": "Step 1) Use F = m a. Step 2) a = 50 / 20 = 2.5 m/s^2",
    "topic": MARK,
}


@dataclass(frozen=True, kw_only=True)
class Place:
    site: Site
    folder: Path
    # Things of the other tenant, by the names of paths and fields.
    done: str
    running: str
    conversation: str
    chat: str
    kept: str
    project: str
    teaching: str
    seat: str

    def names(self, path: str) -> dict[str, str]:
        kinds = {"/v1/chats": self.chat, "/v1/teaching": self.seat}
        named = next((name for kind, name in kinds.items() if path.startswith(kind)), f"{MARK}-letter")
        run = self.done if "{conversation}" in path else self.running
        return {
            "run": run,
            "conversation": self.conversation,
            "id": named,
            "name": "manifest.json",
            "format": "openai",
            "project": self.teaching if path.startswith("/v1/teaching") else self.project,
            "annotator": "chemistry",
            "teacher": "chemistry",
        }

    def sent(self, call: str) -> list[str]:
        """The words of the call's body or, in the audit, of all calls before."""
        earlier = [self.running, self.done, self.conversation, self.chat, self.seat, f"{MARK}-letter"]
        return [f"{MARK}-done", f"{MARK}.jsonl", f"{MARK}-item", *(earlier if call == "ListAudit" else ())]

    def secrets(self) -> list[str]:
        return [MARK, self.done, self.running, self.conversation, self.chat, self.kept, self.seat, "of chemistry"]

    def revealed(self, content: str, *sent: str) -> list[str]:
        """The secrets in an answer, but for what the caller itself sent."""
        for word in sent:
            content = content.replace(word, "")
        return [secret for secret in self.secrets() if secret.lower() in content.lower()]


@contextmanager
def planted(folder: Path) -> Iterator[Place]:
    """`soliloquy up` with two tenants, one of which has some of everything."""
    for tenant, name in (("chemistry", f"{MARK}.jsonl"), ("physics", "ours.jsonl")):
        (folder / "problems" / tenant).mkdir(parents=True)
        (folder / "problems" / tenant / name).write_text(json.dumps(PROBLEM | {"topic": name}), "utf-8")
    for tenant, name in (("chemistry", MARK), ("physics", "ours"), ("", "everybodys")):
        _trained(folder, tenant, name)
    given = ["--problem-files", str(folder / "problems"), "--adapters", str(folder / "adapters")]
    given += ["--evaluations", str(folder / "evaluations"), "--latency", "20ms", "--shard-seconds", "1s"]
    with site(folder, *given, tenants={"physics": OURS, "chemistry": THEIRS}) as running:
        yield _planted(running, folder)


def _trained(folder: Path, tenant: str, name: str) -> None:
    weights = folder / "weights"
    weights.mkdir(exist_ok=True)
    digests = {"digest": "a" * 64, "base_digest": "b" * 64, "data_digest": "c" * 64}
    version = Version(name=name, **digests, files={}, config={}, metrics={}, note=name)
    Registry(str(folder / "adapters" / tenant)).push(version, weights)
    report = {
        "protocol": "mathdial",
        "name": name,
        "model": {"model": name},
        "titles": {},
        "cases": {"put": "", "sha256": ""},
    }
    write_report(folder / "evaluations" / tenant / name, report | {"figures": {"metrics": {}}}, [], [])


def _annotated(at: Site) -> str:
    """A project with one item, which is annotated."""
    task = {"item": f"{MARK}-item", "shown": {"question": MARK}}
    asked = {"name": f"{MARK} problems", "scheme": "mathwell", "tasks": [task], "annotators_per_item": 1}
    project = at.call("POST", "/v1/annotation/projects", asked, token=THEIRS)["id"]
    place = f"/v1/annotation/projects/{project}"
    item = at.call("POST", f"{place}/next", {}, token=THEIRS)["item"]
    values = {"solvable": "yes", "accurate": "yes", "appropriate": "yes"}
    at.call("POST", f"{place}/annotations", {"item": item, "values": values}, token=THEIRS)
    return str(project)


def _seated(at: Site) -> tuple[str, str]:
    """A project for teachers, and a seat in it."""
    asked = {"name": f"{MARK} teaching", "recipe": "mathdial", "bank": "arithmetic", "dialogues": 1}
    project = str(at.call("POST", "/v1/teaching/projects", asked, token=THEIRS)["id"])
    return project, str(at.call("POST", f"/v1/teaching/projects/{project}/next", {}, token=THEIRS)["id"])


def _planted(at: Site, folder: Path) -> Place:
    problems = f"chemistry/{MARK}.jsonl"
    # As many as a forecast rests on.
    done = at.started(12, request_id=f"{MARK}-done", problems=problems, name=f"{MARK} one", token=THEIRS)
    running = at.started(5_000, request_id=f"{MARK}-running", problems=problems, in_flight=1, token=THEIRS)

    def is_done() -> bool:
        found = at.call("GET", f"/v1/runs/{done}", token=THEIRS)
        return bool(found["dataset"] == "DATASET_STATE_WRITTEN")

    wait_until(is_done)
    [first, *_] = at.call("GET", f"/v1/runs/{done}/conversations", token=THEIRS)["conversations"]
    chat, left = (_talked(at) for _ in range(2))
    finished = at.call("POST", f"/v1/chats/{left}/finish", {"keep": True}, token=THEIRS)
    wait_until(lambda: finished["run"] in {run["id"] for run in at.call("GET", "/v1/runs", token=THEIRS)["runs"]})
    teaching, seat = _seated(at)
    planted = Place(
        site=at,
        folder=folder,
        done=done,
        running=running,
        conversation=first["id"],
        chat=chat,
        kept=finished["run"],
        project=_annotated(at),
        teaching=teaching,
        seat=seat,
    )
    asyncio.run(_bury(planted))
    wait_until(lambda: at.call("GET", "/v1/dead-letters", token=THEIRS)["letters"])
    return planted


def _talked(at: Site) -> str:
    question = {"recipe": "soliloquy", "question": PROBLEM["question"], "solution": PROBLEM["solution"]}
    chat = str(at.call("POST", "/v1/chats", question, token=THEIRS)["id"])
    asked = f"/v1/chats/{chat}/messages"
    with pytest.raises(json.JSONDecodeError):
        # A stream, which is read to its end.
        at.call("POST", asked, {"text": "I get 2.5 m/s^2"}, token=THEIRS)
    return chat


async def _bury(place: Place) -> None:
    name, _, execution = place.running.rpartition("-")
    submitted = ProblemSubmitted(
        run=Run(id=name, growing=execution, recipe="soliloquy"), problem=Problem(question=MARK), ordinal=4_999
    )
    letter = Event(
        id=f"{MARK}-letter",
        topic="problem.submitted.dlq",
        key=place.running,
        payload=submitted.SerializeToString(),
        source="test",
        time=time.time(),
        attempt=5,
        error=f"Refused: {MARK}",
    )
    # Nobody can say whose it is.
    lost = replace(letter, id=f"{MARK}-lost", payload=b"\xff")
    async with EmbeddedTransport(place.folder / "data" / LOG) as transport:
        await transport.publish([letter, lost])
