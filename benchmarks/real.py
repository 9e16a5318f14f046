"""`python -m benchmarks real`."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console

from benchmarks.command import AS_JSON
from benchmarks.labelled import cases
from soliloquy.cli.tables import table
from soliloquy.client import Dataset
from soliloquy.recipes.calls import calls_of_turns
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, Turn

LABELS = Path(__file__).parent / "labels" / "real.jsonl"
# Sendings-back of each rule that are labelled.
_SAMPLE = 20
_OUTCOMES: Mapping[ParseOutcome, str] = {
    ParseOutcome.PARSE_OUTCOME_STRICT: "strict",
    ParseOutcome.PARSE_OUTCOME_REPAIRED: "repaired",
    ParseOutcome.PARSE_OUTCOME_REASKED: "asked again",
}
_COLUMNS = ("asked", "strict", "repaired", "asked again", "unusable")
_SCRIPTED = "scripted"


class SendingBack(NamedTuple):
    rule: str
    role: str
    # The answer that was sent back, and the evidence.
    text: str
    because: str
    # The last messages of the conversation before it.
    before: Sequence[str]

    @property
    def digest(self) -> str:
        told = "\n".join((self.rule, self.text, self.because, *self.before))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sample", is_flag=True, help="Print the sendings-back that are to be labelled, as JSON lines.")
@AS_JSON
def real(*, folder: Path, sample: bool, as_json: bool) -> None:
    """Count how the answers of pretrained models were read, and what each rule sent back.

    FOLDER holds the datasets of `make real`. A call counts once, by its last attempt; calls of the scripted model do
    not count. `just` says of at most 20 sendings-back a rule how many a reader agrees with.
    """
    read: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    ended: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    back: dict[str, dict[str, SendingBack]] = defaultdict(dict)
    totals = Counter[str]()
    for dataset in sorted(manifest.parent for manifest in folder.glob("*/*/manifest.json")):
        way = dataset.name.rpartition("-")[2]
        for conversation, accepted in _conversations(dataset):
            where = (dataset.parent.name, conversation.run.recipe, way)
            ended[where].update(["ended", "accepted" if accepted else "rejected"])
            for call in _real_calls(conversation):
                for key in ((call.role, call.prompt, way), ("all", dataset.parent.name, way)):
                    read[key].update(["asked", _OUTCOMES.get(call.outcome, "unusable")])
                ended[where].update(calls=1, tokens=call.prompt_tokens + call.completion_tokens)
            for one in _sent_back(conversation):
                totals[one.rule] += 1
                back[one.rule][one.digest] = one
    sampled = {rule: dict(sorted(found.items())[:_SAMPLE]) for rule, found in back.items()}
    if sample:
        for _rule, found in sorted(sampled.items()):
            for digest, one in found.items():
                click.echo(json.dumps({"digest": digest, **one._asdict()}, ensure_ascii=False))
        return
    figures = {
        "conversations": _rows(ended, ("server", "recipe", "grammar"), ("ended", "accepted", "calls", "tokens")),
        "answers": _rows(read, ("role", "prompt", "grammar"), _COLUMNS),
        "rules": _judged(totals, sampled),
    }
    if as_json:
        click.echo(json.dumps(figures))
        return
    # A prompt names its role, and a terminal is narrow.
    figures["answers"] = [
        {"prompt": f"{row['prompt']}{' free' if row['grammar'] == 'free' else ''}"}
        | {name.removeprefix("asked "): row[name] for name in _COLUMNS}
        for row in figures["answers"]
    ]
    for title, rows in figures.items():
        click.echo(title)
        made = table(*(rows[0] if rows else ()))
        for row in rows:
            made.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
        Console().print(made)


def _conversations(dataset: Path) -> Iterator[tuple[Conversation, bool]]:
    """Yields each conversation and whether it was accepted; the calls of a problem's enrichment come with its first."""
    known = set[str]()
    for rejected in (False, True):
        for conversation in Dataset(dataset).conversations(rejected=rejected):
            if conversation.problem.id in known:
                del conversation.problem.enrichment.calls[:]
            known.add(conversation.problem.id)
            yield conversation, not rejected


def _real_calls(conversation: Conversation) -> Iterator[ModelCall]:
    for call in (*conversation.problem.enrichment.calls, *calls_of_turns(conversation)):
        if call.engine and call.engine != _SCRIPTED:
            yield call


def _sent_back(conversation: Conversation) -> Iterator[SendingBack]:
    """Yields what rules sent back of the real model's answers, and the turns that they took back."""
    real_roles = {call.role for call in _real_calls(conversation)}
    taken_back = [turn for rewind in conversation.rewinds for turn in rewind.turns]
    for turn in (*taken_back, *conversation.turns):
        told = [said for earlier in conversation.turns if earlier.number < turn.number for said in _said(earlier)]
        for one in turn.rejected:
            if one.role in real_roles:
                before = [*told, *([turn.student.text] if one.role != "student" else [])]
                yield SendingBack(one.rule, one.role, one.text, one.because, before[-3:])


def _said(turn: Turn) -> Iterator[str]:
    yield from filter(None, (turn.student.text, turn.tutor.text))


def _rows(
    counts: Mapping[tuple[str, ...], Counter[str]], names: Sequence[str], columns: Sequence[str]
) -> list[dict[str, Any]]:
    return [
        dict(zip(names, key, strict=True)) | {name: found[name] for name in columns}
        for key, found in sorted(counts.items())
    ]


def _judged(totals: Counter[str], sampled: Mapping[str, Mapping[str, SendingBack]]) -> list[dict[str, Any]]:
    labels = {row["digest"]: row["just"] for row in cases(LABELS)} if LABELS.exists() else {}
    rows = []
    for rule, count in totals.most_common():
        judged = [labels[digest] for digest in sampled[rule] if digest in labels]
        rows.append({"rule": rule, "sent back": count, "labelled": len(judged), "just": sum(judged)})
    return rows
