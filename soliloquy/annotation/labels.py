"""Labels of people in a dataset: the answer that counts for each item, as a column of its conversation or turn."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from soliloquy.annotation.report import agreement
from soliloquy.annotation.rows import Annotation, require_scheme
from soliloquy.annotation.scheme import PAIRS, Question, Scheme, Unit
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import REASONS, messages, recipe_of
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, HumanLabel, Turn
from soliloquy.v1.dataset_pb2 import Collected

Labels = Mapping[str, Sequence[HumanLabel]]


def consensus(annotations: Sequence[Annotation], scheme: Scheme) -> Labels:
    """Returns the labels of each item: the decision, else the answer of most annotators; a tie is no label."""
    by_item: dict[str, list[Annotation]] = {}
    for one in annotations:
        by_item.setdefault(one.item, []).append(one)
    asked = [question for question in scheme.questions if question.kind in ("label", "scale")]
    found = {
        item: [label for question in asked for label in _labels(given, question, scheme.name)]
        for item, given in by_item.items()
    }
    return {item: labels for item, labels in found.items() if labels}


def _labels(given: Sequence[Annotation], question: Question, scheme: str) -> Iterator[HumanLabel]:
    for part in [one.name for one in question.labels] if question.several else [""]:
        answered = [one for one in given if one.values.get(question.name) is not None]
        values = [(one, _value(one.values[question.name], part)) for one in answered]
        decided = [value for one, value in values if one.round == "adjudication"]
        # The latest answer of an annotator counts.
        votes = Counter({one.annotator: value for one, value in values if one.round != "adjudication"}.values())
        leading = decided[-1:] or [value for value, times in votes.items() if times == max(votes.values())]
        if len(leading) == 1:
            yield HumanLabel(
                scheme=scheme,
                question=question.name + (f".{part}" if part else ""),
                value=leading[0],
                annotators=votes.total(),
                agreeing=votes[leading[0]],
                adjudicated=bool(decided),
            )


def _value(value: Any, part: str) -> str:
    return str(value) if not part else "yes" if part in value else "no"


def apply(dataset: Dataset, annotations: Sequence[Annotation], scheme: Scheme, place: Path) -> dict[str, int]:
    """Writes the dataset with the labels of a scheme in place of its earlier ones; counts items and labels.

    Raises Failure if the dataset has none of the items.
    """
    if scheme.unit in PAIRS:
        raise Failure(f"{scheme.name} compares pairs: soliloquy annotations preferences makes preferences of them")
    require_scheme(annotations, scheme)
    labels = consensus(annotations, scheme)
    storage, tally = Storage(place), Tally()
    writer = DatasetWriter(storage, place / ".unfinished", (), ShardLimits(), tally)
    found, written = set[str](), 0
    for collected in _rows(dataset):
        conversation = Conversation.FromString(collected.conversation)
        for item, labelled in _items(conversation, scheme.unit):
            kept = [one for one in labelled.human_labels if one.scheme != scheme.name]
            added = labels.get(item, ())
            del labelled.human_labels[:]
            labelled.human_labels.extend([*kept, *added])
            found.update([item] if added else [])
            written += len(added)
        collected.conversation = conversation.SerializeToString(deterministic=True)
        writer.add(collected)
    if not found:
        raise Failure(f"{dataset.folder} has none of the {len(labels)} labelled items: use the dataset they came from")
    shards = writer.close() + write_prompts(storage, dataset.prompts)
    run, cost = _run(dataset, [one for one in annotations if one.item in found], scheme), dataset.manifest["cost"]
    write_manifest(storage, {"run": run, "counts": tally.as_json(), "cost": cost, "arrival": {}}, shards)
    return {"items": len(found), "labels": written, "unknown_items": len(labels.keys() - found)}


def _rows(dataset: Dataset) -> Iterator[Collected]:
    for rejected in (False, True):
        for batch in dataset.batches(rejected=rejected):
            reasons = batch[REASONS.name].to_pylist() if rejected else [()] * len(batch)
            for message, because in zip(messages(batch), reasons, strict=True):
                yield Collected(conversation=message, recipe=recipe_of(batch), reasons=because)


def _items(conversation: Conversation, unit: Unit) -> Iterator[tuple[str, Conversation | Turn]]:
    if unit == "turn":
        yield from ((f"{conversation.id}#{turn.number}", turn) for turn in conversation.turns)
    else:
        yield conversation.id, conversation


def _run(dataset: Dataset, annotations: Sequence[Annotation], scheme: Scheme) -> dict[str, Any]:
    """Returns the run with what a card says of its labels; annotators are a number there."""
    run, said = dict(dataset.manifest["run"]), agreement(annotations, scheme)
    alphas = {name: question["krippendorff_alpha"] for name, question in said["questions"].items()}
    facts = {"scheme": scheme.name, "title": scheme.title, "unit": scheme.unit, "items": said["items"]}
    earlier = [one for one in run.get("annotated", ()) if one["scheme"] != scheme.name]
    return run | {"annotated": [*earlier, facts | {"annotators": len(said["annotators"]), "alpha": alphas}]}
