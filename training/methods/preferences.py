"""Tokenizes preferences once: answers of the tutor that rules sent back, and those that stand in their place.

Prompts and answers have the tokens that they have in the model service, as in a training on what tutors said.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from soliloquy.dataset.exports.format import Row
from soliloquy.dataset.exports.formats.preferences import LABELLED, PAIRS, STATES, SUFFIX, rows
from soliloquy.recipes.recipe import TrainingMessage
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import draw, seed
from soliloquy.runtime.weights import digest_of as digest_of_files
from soliloquy_training import source
from soliloquy_training.data import choose_held_out
from soliloquy_training.methods.samples import Prompt
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.state import complete
from soliloquy_training.templating import Template

# The file with the rows of a method, and the columns of their answers.
_READ = {"dpo": (PAIRS, ("chosen", "rejected")), "kto": (LABELLED, ("completion",))}
_SUMMARY = "summary.json"
_PARTS = ("training", "held_out")


class Preferences:
    """The tokenized rows of a training, as TRL names their columns."""

    def __init__(self, folder: Path) -> None:
        from datasets import load_from_disk

        self.summary: dict[str, Any] = json.loads((folder / _SUMMARY).read_bytes())
        self.training, held_out = (load_from_disk(str(folder / part)) for part in _PARTS)
        self.held_out = held_out if len(held_out) else None

    def prompts(self, count: int) -> list[Prompt]:
        """Returns different prompts, of rows that are held out if there are any."""
        rows = self.held_out or self.training
        found = {tuple(ids): asked for asked, ids in zip(rows["asked"], rows["prompt_ids"], strict=True)}
        return [Prompt(asked=asked, ids=list(ids)) for ids, asked in islice(found.items(), count)]


def digest_of(data: str) -> str:
    """Returns a digest of exported preferences, or of the conversations of a dataset."""
    files = [Path(data) / f"{kind}{SUFFIX}" for kind in (PAIRS, LABELLED)]
    return digest_of_files(files) if all(file.is_file() for file in files) else source.digest_of(data)


def prepare(
    folder: Path, data: str, settings: TrainingSettings, template: Template, tell: Callable[[int], None]
) -> Preferences:
    """Reports the number of rows read so far; reuses files that exist already."""
    if not (folder / _SUMMARY).exists():
        with complete(folder) as unfinished:
            unfinished.mkdir(exist_ok=True)
            _write(unfinished, data, settings, template, tell)
    return Preferences(folder)


def _read(data: str, kind: str) -> Iterator[Row]:
    """Yields the rows of exported preferences, or those that an export of a dataset would have."""
    file = Path(data) / f"{kind}{SUFFIX}"
    if not file.is_file():
        for conversation in source.conversations(data):
            yield from (row for name, row in rows(conversation) if name == kind)
        return
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise Failure(f"{file}: line {number} is not JSON ({error}): export the preferences again") from error


def _write(
    folder: Path, data: str, settings: TrainingSettings, template: Template, tell: Callable[[int], None]
) -> None:
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    kind, answers = _READ[settings.method]
    counts, lengths, kept, owners = Counter[str](), list[int](), list[Row](), list[int]()
    places: dict[str, int] = {}
    # The model plays the tutor: it learns nothing from students.
    told = (row for row in _read(data, kind) if row["state"] != STATES["student"])
    for number, row in enumerate(told, start=1):
        tell(number)
        tokens = _tokens(row, answers, template)
        lengths.append(max((len(ids) for _, ids in tokens), default=0))
        if not tokens or lengths[-1] > settings.sequence_length:
            counts["too_long" if tokens else "special"] += 1
            continue
        begins = tokens[0][0]
        owners.append(places.setdefault(row["conversation"], len(places)))
        kept.append(
            {
                "asked": row["prompt"][-1]["content"],
                "prompt_ids": tokens[0][1][:begins],
                **{f"{name}_ids": ids[begins:] for name, (_, ids) in zip(answers, tokens, strict=True)},
                **({"label": row["label"]} if kind == LABELLED else {}),
            }
        )
    _check(data, counts, lengths, kept, settings)
    draws = np.asarray([seed(settings.seed, "held out", id) for id in places], dtype=np.uint64)
    held_out = choose_held_out(draws, settings.validation_share)[owners]
    for part, is_held_out in zip(_PARTS, (False, True), strict=True):
        chosen = [row for row, marked in zip(kept, held_out, strict=True) if marked == is_held_out]
        if kind == LABELLED:
            chosen = _with_strangers(chosen, settings)
        Dataset.from_list(chosen).save_to_disk(str(folder / part))
    learned = [sum(len(row[f"{name}_ids"]) for name in answers) for row in kept]
    summary = {
        "conversations": len(places),
        "samples": len(kept),
        "held_out_samples": int(held_out.sum()),
        "tokens": sum(learned) + sum(len(row["prompt_ids"]) * len(answers) for row in kept),
        "learned_tokens": sum(learned),
        "left_out": {"turn_too_long": counts["too_long"], "special_words": counts["special"]},
        "longest_left_out": max((one for one in lengths if one > settings.sequence_length), default=0),
    }
    (folder / _SUMMARY).write_text(json.dumps(summary, indent=2), "utf-8")


def _tokens(row: Row, answers: tuple[str, ...], template: Template) -> list[tuple[int, list[int]]]:
    """Returns the tokens of each answer after the prompt, and where the answer begins; none with a special token."""
    prompt = [TrainingMessage(message["role"], message["content"], 0) for message in row["prompt"]]
    chats = [[*prompt, TrainingMessage("assistant", row[name][0]["content"], 0, learned=True)] for name in answers]
    marked = [tokens for tokens in template.tokens(chats) if tokens]
    return [(tokens.learned.index(True), tokens.ids) for tokens in marked] if len(marked) == len(chats) else []


def _with_strangers(rows: list[Row], settings: TrainingSettings) -> list[Row]:
    """Gives each row of a batch the answer to another's prompt, from which KTO estimates the divergence."""
    draw(settings.seed, "order", 0).shuffle(rows)
    for start in range(0, len(rows), settings.micro_batch):
        batch = rows[start : start + settings.micro_batch]
        for row, before in zip(batch, [batch[-1], *batch[:-1]], strict=True):
            row["KL_completion_ids"] = before["completion_ids"]
    return rows


def _check(data: str, counts: Counter[str], lengths: list[int], kept: list[Row], settings: TrainingSettings) -> None:
    if kept:
        return
    if not lengths:
        raise Failure(
            f"{data} has no answer of the tutor that a rule certainly found unfit"
            f"{' and that was mended' if settings.method == 'dpo' else ''}: generate more, or export preferences with "
            "--uncertain and train on them"
        )
    if counts["too_long"]:
        raise Failure(
            f"no answer fits into {settings.sequence_length} tokens with its prompt (the longest has {max(lengths)}): "
            "raise sequence_length"
        )
    raise Failure(f"each answer of {data} has the text of a special token of the model: use another model")
