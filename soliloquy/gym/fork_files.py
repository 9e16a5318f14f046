"""Writes what forks have yielded: the tree, the best continuations as a dataset, and pairs of answers to one prompt."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from soliloquy.dataset.exports.files import open_rows
from soliloquy.dataset.exports.formats.preferences import (
    LABELLED,
    PAIRS,
    SUFFIX,
    Pair,
    as_messages,
    first_difference,
    pair_rows,
    tutor_answers,
)
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.gym.forking import Choice, Fork, Sample, Tree
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.dataset_pb2 import Collected

TREE, BEST, PREFERENCES = "tree.jsonl", "best", "preferences"
# The rule by which the export of preferences names pairs that a reward tells apart.
_RULE = "reward"


def write_files(
    place: Path, forks: Iterable[Fork], tree: Tree, choice: Choice, run: Mapping[str, Any], margin: float
) -> dict[str, int]:
    """Writes all files into a folder; returns the forks, the pairs and the conversations of the best continuations."""
    counts = {"forks": 0, "samples": 0, "pairs": 0, "best": 0}
    (place / PREFERENCES).mkdir(parents=True)
    best = _Best(place) if choice.to_end else None
    with ExitStack() as stack:
        lines = stack.enter_context((place / TREE).open("w", encoding="utf-8"))
        pairs = {
            kind: stack.enter_context(open_rows(place / PREFERENCES / f"{kind}{SUFFIX}", SUFFIX))
            for kind in (PAIRS, LABELLED)
        }
        for fork in forks:
            samples = tree.samples(fork, choice.samples)
            counts["forks"] += 1
            counts["samples"] += len(samples)
            lines.write(json.dumps(_node(fork, samples), ensure_ascii=False) + "\n")
            if pair := _pair(fork, samples, margin):
                counts["pairs"] += 1
                for kind, row in pair_rows(pair, fork.conversation.id, set()):
                    pairs[kind](row)
            if best:
                best.add(samples)
    if best:
        counts["best"] = best.finish(run)
    return counts


def _node(fork: Fork, samples: Sequence[Sample]) -> dict[str, Any]:
    prompts = list[dict[str, Any]]()
    turns = fork.conversation.turns[: fork.turn]
    said = [one for turn in turns for one in (("student", turn.student.text), ("tutor", turn.tutor.text))]
    return {
        "conversation": fork.conversation.id,
        "turn": fork.turn,
        "state": fork.state,
        "question": fork.conversation.problem.question,
        "messages": [{"role": role, "text": text} for role, text in said[:-1] if text],
        # The samples share most of them.
        "prompts": prompts,
        "samples": [
            {
                "sample": number,
                "total": round(reward.total, 6),
                "components": {name: round(one.value, 6) for name, one in reward.components.items()},
                "evidence": {name: list(one.evidence) for name, one in reward.components.items() if one.evidence},
                "reply": "".join(turn.tutor.text for turn in conversation.turns[fork.turn - 1 : fork.turn]),
                "answers": [
                    {"state": one.state, "prompt": _place(one.prompt, prompts), "text": one.text}
                    for one in tutor_answers(conversation, fork.turn)
                ],
            }
            for number, conversation, reward in samples
        ],
    }


def _place(prompt: Prompt, prompts: list[dict[str, Any]]) -> int:
    row = {"name": prompt.name, "messages": as_messages(prompt)}
    if row not in prompts:
        prompts.append(row)
    return prompts.index(row)


def _pair(fork: Fork, samples: Sequence[Sample], margin: float) -> Pair | None:
    """Returns the first answer in which the best and the worst continuation differ; None for no worse one."""
    if len(samples) < 2 or samples[0].reward.total - samples[-1].reward.total < margin:
        return None
    best, worst = samples[0], samples[-1]
    answers = (tutor_answers(one.conversation, fork.turn) for one in (best, worst))
    if (both := first_difference(*answers)) is None:
        return None
    chosen, rejected = both
    why = _difference(best, worst)
    return Pair(fork.turn, chosen.state, chosen.prompt, chosen.text, rejected.text, _RULE, why, certain=True)


def _difference(best: Sample, worst: Sample) -> str:
    """Says in which components the worse continuation has less, and why."""
    told = [f"{worst.reward.total:.3f} against {best.reward.total:.3f}"]
    for name, one in worst.reward.components.items():
        if one.value < best.reward.components[name].value:
            told.append(f"{name} {one.value:.2f}" + (f" ({one.evidence[0]})" if one.evidence else ""))
    return "; ".join(told)


class _Best:
    """The best continuation of each conversation, as a dataset."""

    def __init__(self, place: Path) -> None:
        self._place = place / BEST
        self._place.mkdir()
        self._tally, self._storage = Tally(), Storage(self._place)
        self._scratch = place / ".unfinished"
        self._writer = DatasetWriter(self._storage, self._scratch, (), ShardLimits(), self._tally)
        self._leading: Sample | None = None

    def add(self, samples: Sequence[Sample]) -> None:
        """Forks of one conversation come one after the other."""
        for sample in samples[:1]:
            leading = self._leading
            if leading is None or leading.conversation.id != sample.conversation.id:
                self._write()
                self._leading = sample
            elif sample.reward.total > leading.reward.total:
                self._leading = sample

    def finish(self, run: Mapping[str, Any]) -> int:
        self._write()
        shards = self._writer.close()
        manifest = {"run": dict(run), "counts": self._tally.as_json(), "cost": {}, "arrival": {}}
        write_manifest(self._storage, manifest, shards)
        return self._tally.accepted

    def _write(self) -> None:
        """A continuation that its recipe rejects is not worth a row."""
        if self._leading is None:
            return
        conversation = self._leading.conversation
        if not find(conversation.run.recipe).faults(conversation):
            self._writer.add(
                Collected(
                    conversation=conversation.SerializeToString(deterministic=True),
                    id=conversation.id,
                    ordinal=conversation.ordinal,
                    attempt=conversation.attempt,
                    recipe=conversation.run.recipe,
                )
            )
