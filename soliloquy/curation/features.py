"""Turns conversations into rows of what the steps of a curation need of them, each row by itself."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from soliloquy.curation.contamination import Benchmarks
from soliloquy.curation.strata import STRATA
from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.dialogue import PATHS, Dialogue
from soliloquy.dataset.exports.splitting import place_of
from soliloquy.dataset.labelling import installed
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import messages
from soliloquy.problems.sifting.alike import BANDS, band_keys, sketch
from soliloquy.problems.sifting.near_duplicates import shingles_of
from soliloquy.problems.sifting.sampling import DUPLICATES
from soliloquy.recipes import labels
from soliloquy.runtime.seeds import seed
from soliloquy.texts.ngrams import Hashes, hashes_of, runs, tokens
from soliloquy.v1.conversation_pb2 import Conversation

# The texts of a row that are compared with those of others: what is said, and what it is about.
COMPARED = DIALOGUE, PROBLEM = "dialogue", "problem"
_COLUMNS = [
    *(PATHS[name] for name in ("id", "recipe", "problem_id", "topic", "question", "solution", "student", "reply")),
    *labels.PATHS.values(),
]
_RULING, _NO = ".ruling", "no"


class Part(NamedTuple):
    """The rows of a dataset after a place."""

    number: int
    after: str | None
    rows: int


def band(compared: str, number: int) -> str:
    return f"{compared} band {number}"


def sketched(compared: str) -> str:
    return f"{compared} sketch"


def features(dataset: Dataset, part: Part, benchmarks: Benchmarks) -> pa.Table:
    """Returns a row for each conversation of the part."""
    # The conversations of a run were held to the rules before they were accepted.
    is_judged = "imported" in dataset.manifest["run"]
    rows, sets = list[dict[str, Any]](), {name: list[Hashes]() for name in COMPARED}
    for dialogue, fault in islice(_read(dataset, part, is_judged=is_judged), part.rows):
        spoken = [text for turn in dialogue.turns for text in (turn.student, turn.reply) if text]
        asked, solved, said = (tokens(text) for text in (dialogue.question, dialogue.solution, "\n".join(spoken)))
        # A row may be a problem alone, or a chat about none.
        told = said or asked or [dialogue.id]
        words = [*solved, *asked, *told]
        hashes = hashes_of(words)
        sets[DIALOGUE].append(runs(hashes[-len(told) :], DUPLICATES.shingle))
        sets[PROBLEM].append(shingles_of(asked or told))
        rows.append(
            {
                "part": part.number,
                "id": dialogue.id,
                DIALOGUE: seed(*spoken or [dialogue.question]),
                PROBLEM: seed(dialogue.question or dialogue.id),
                "problem id": seed(dialogue.problem_id or dialogue.id),
                "place": place_of(dialogue.about),
                "contamination": benchmarks.found_in(words, hashes),
                "fault": fault,
                **{name: stratum(dialogue) for name, stratum in STRATA.items()},
            }
        )
    return _table(rows, sets)


def _table(rows: Sequence[dict[str, Any]], sets: dict[str, list[Hashes]]) -> pa.Table:
    numbers = {DIALOGUE, PROBLEM, "problem id", "place"}
    columns: dict[str, pa.Array] = {
        name: pa.array([row[name] for row in rows], pa.uint64() if name in numbers else None) for name in rows[0]
    }
    for name, of_rows in sets.items():
        keys = band_keys(of_rows)
        columns |= {band(name, number): pa.array(keys[:, number]) for number in range(BANDS)}
        sketches = [sketch(each) for each in of_rows]
        ends = np.cumsum([0, *map(len, sketches)], dtype=np.int32)
        columns[sketched(name)] = pa.ListArray.from_arrays(pa.array(ends), pa.array(np.concatenate(sketches)))
    return pa.table(columns)


def _read(dataset: Dataset, part: Part, *, is_judged: bool) -> Iterator[tuple[Dialogue, str]]:
    """Yields each dialogue with why a judge would not keep it."""
    for batch in dataset.batches(None if is_judged else _COLUMNS, after=part.after):
        faults = _rule_faults(dataset, batch) if is_judged else [""] * len(batch)
        for dialogue, fault in zip(dialogues(batch), faults, strict=True):
            yield dialogue, fault or _ruled_out(dialogue)


def _rule_faults(dataset: Dataset, batch: pa.RecordBatch) -> Iterator[str]:
    """Yields the first fault that the recipe's check finds in each row; empty if it finds none."""
    for message in messages(batch):
        conversation = Conversation.FromString(message)
        conversation.run.prompts.update(dataset.prompts)
        recipe = installed(conversation.run.recipe) if conversation.run.recipe else None
        yield next(iter(recipe.check(conversation).faults), "") if recipe else ""


def _ruled_out(dialogue: Dialogue) -> str:
    """Returns the label by which a judge has ruled against the conversation; empty if none has."""
    return next((name for name, value in dialogue.labels.items() if name.endswith(_RULING) and value == _NO), "")
