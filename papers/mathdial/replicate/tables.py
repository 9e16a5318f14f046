"""The tables: each figure as the authors count it, and as `evaluate mathdial` and the statistics of datasets do."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from soliloquy.recipes.mathdial.moves import INTENTS, move_name
from soliloquy.texts.utterances import bigram_entropy
from soliloquy.v1.conversation_pb2 import Conversation, Resolution
from soliloquy_papers.mathdial.evaluate.answers import ExpectedAnswer
from soliloquy_papers.mathdial.evaluate.judging import JudgedDialogue, judge
from soliloquy_papers.mathdial.evaluate.replies import utterance_measures
from soliloquy_papers.mathdial.published import PUBLISHED
from soliloquy_papers.replication.published import Published, replication
from soliloquy_papers.replication.tables import Found, Table, beside_paper, mean, portion
from soliloquy_training.evaluation.cases import Share

_FILES = ("test.csv", "test.jsonl")
_EXAMPLES = "example_model_output.jsonl"
# Columns with dialogues about the same problems, and who tutors in them.
_TUTORS = {"conversation": "people", "chatgpt_baseline": "ChatGPT"}
_END = re.compile(r"\|EOM\||<EOM>")
_TEACHER = re.compile(r"Teacher: ?(?:\(\s*(\w+)\s*\))?(.*)", re.DOTALL)
_NAME = re.compile(r"[^:\n]{1,40}: ?")
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
_SHOWN_K = (1, 2, 3, 4, 5, 10)
_EXAMPLE_K = 5
_RESOLUTIONS = {
    "solved": Resolution.RESOLUTION_SOLVED,
    "revealed": Resolution.RESOLUTION_REVEALED,
    "unsolved": Resolution.RESOLUTION_UNSOLVED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Dialogue:
    conversation: Conversation
    # The text of each message, with its move where a teacher says it and None where a student does.
    said: Sequence[tuple[str | None, str]]
    answer: str

    @property
    def teacher(self) -> list[tuple[str, str]]:
        return [(move, text) for move, text in self.said if move is not None]

    def outcome(self) -> tuple[int | None, int | None]:
        """Returns the turns in which student and teacher first say the answer, as the authors count."""
        told, turn = None, 0
        for move, text in self.said:
            turn += move is not None
            has_answer = any(_value(number) == _value(self.answer) for number in _NUMBER.findall(text))
            if has_answer and move is None:
                return max(turn, 1), told
            if has_answer and told is None:
                told = turn
        return None, told


@replication
def replicate(published: Published) -> Iterator[Table]:
    found: dict[str, Any] = {}
    read = {
        name: [_dialogue(row, one) for _, row, one in published.conversations(name, "mathdial", ("conversation",))]
        for name in _FILES
    }
    # Both files hold the same dialogues.
    dialogues = max(read.values(), key=len)
    if dialogues:
        found |= {"data": _data(dialogues), "moves": _moves(dialogues), "resolved": _resolved(dialogues)}
        judged, counted = _judged(dialogues), [one.outcome() for one in dialogues if one.answer]
        found |= {"reached": _reached(judged, counted), "seen": _seen(dialogues, judged)}
    found["models"] = _models(published)
    return beside_paper(PUBLISHED, found)


def _dialogue(row: dict[str, Any], conversation: Conversation) -> _Dialogue:
    said: list[tuple[str | None, str]] = []
    for message in filter(str.strip, _END.split(str(row["conversation"] or ""))):
        teacher = _TEACHER.fullmatch(message)
        said.append((teacher[1] or "", teacher[2]) if teacher else (None, _NAME.sub("", message, count=1)))
    numbers = _NUMBER.findall(str(row.get("ground_truth") or ""))
    return _Dialogue(conversation=conversation, said=said, answer=numbers[-1] if numbers else "")


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _data(dialogues: Sequence[_Dialogue]) -> dict[str, Found]:
    turns = [turn for one in dialogues for turn in one.conversation.turns]
    ours = utterance_measures([(turn.student.text, turn.tutor.text, "") for turn in turns if turn.tutor.text.strip()])
    marked = [_WORD_OR_MARK.findall(text.casefold()) for one in dialogues for _, text in one.teacher]
    answered = (
        before is None and after is not None for one in dialogues for (before, _), (after, _) in pairwise(one.said)
    )
    both = sum(bool(turn.student.text and turn.tutor.text) for turn in turns)
    return {
        "dialogues": Found(len(dialogues), len(dialogues)),
        "pairs": Found(sum(answered) / len(dialogues), both / len(dialogues)),
        "words": Found(mean(map(len, marked)), ours["words"]),
        "entropy": Found(mean(map(bigram_entropy, marked)), ours["entropy"]),
        "uptake": Found(ours=ours["uptake"] and ours["uptake"] / 100),
    }


def _moves(dialogues: Sequence[_Dialogue]) -> dict[str, Found]:
    chosen = [[move for move, _ in one.teacher] for one in dialogues]
    ours = Counter(
        move_name(turn.tutor) for one in dialogues for turn in one.conversation.turns if turn.HasField("tutor")
    )
    every = [move for moves in chosen for move in moves]
    halves = {
        "telling_early": [move for moves in chosen for move in moves[: len(moves) // 2]],
        "telling_late": [move for moves in chosen for move in moves[len(moves) // 2 :]],
    }
    return {
        **{
            name: Found(portion(move == name for move in every), portion(move == name for move in ours.elements()))
            for name in INTENTS
        },
        **{name: Found(portion(move == "telling" for move in half)) for name, half in halves.items()},
    }


def _resolved(dialogues: Sequence[_Dialogue]) -> dict[str, Found]:
    said = [one.conversation.resolution for one in dialogues if one.conversation.resolution]
    shares = {name: portion(word == value for word in said) for name, value in _RESOLUTIONS.items()}
    return {name: Found(share, share) for name, share in shares.items()}


def _judged(dialogues: Iterable[_Dialogue]) -> list[JudgedDialogue]:
    expected = ((one.conversation, ExpectedAnswer.from_problem(one.conversation.problem)) for one in dialogues)
    return [judge(conversation, wanted) for conversation, wanted in expected if wanted]


def _reached(
    judged: Sequence[JudgedDialogue], counted: Sequence[tuple[int | None, int | None]]
) -> dict[str, dict[str, Found]]:
    def within(turns: Iterable[int | None], k: int) -> Share:
        return portion(turn is not None and turn <= k for turn in turns)

    ours = [(one.reached, one.told) for one in judged]
    return {
        name: {
            f"k={k}": Found(within((turns[at] for turns in counted), k), within((turns[at] for turns in ours), k))
            for k in _SHOWN_K
        }
        for at, name in enumerate(("success", "telling"))
    }


def _seen(dialogues: Sequence[_Dialogue], judged: Sequence[JudgedDialogue]) -> dict[str, Found]:
    return {
        name: Found(
            portion(one.outcome()[0] for one in dialogues if one.answer and one.conversation.resolution == word),
            portion(one.reached for one in judged if one.conversation.resolution == word),
        )
        for name, word in _RESOLUTIONS.items()
    }


def _models(published: Published) -> dict[str, dict[str, Found]]:
    found: dict[str, dict[str, Found]] = {"success": {}, "telling": {}}
    for column, tutor in _TUTORS.items():
        change = partial(_with_dialogue, column=column)
        rows = published.conversations(_EXAMPLES, "mathdial", tuple(_TUTORS), change)
        if dialogues := [_dialogue(row, one) for _, row, one in rows]:
            reached = _reached(_judged(dialogues), [one.outcome() for one in dialogues if one.answer])
            for name in found:
                found[name][tutor] = reached[name][f"k={_EXAMPLE_K}"]
    return {name: figures for name, figures in found.items() if figures}


def _with_dialogue(row: dict[str, Any], column: str) -> dict[str, Any]:
    return row | {"conversation": row[column]}
