"""Measures how people in conversations talk: how varied they are, what they take up, and why they are wrong."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from math import comb

import pyarrow as pa

from soliloquy.dataset.exports import dialogue as exports
from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.labelling import label_texts
from soliloquy.dataset.rows import recipe_of
from soliloquy.dataset.tables import share
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.labels import columns_of
from soliloquy.texts.utterances import uptake, words
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Evaluation

# The measures keep every text: of a large dataset, those of its first conversations.
MOST = 1_000
# Conversations whose runs of words are compared with each other: more text repeats itself more.
GROUP = 10
RUN = 3
_SAME = 0.005
_INCORRECT = EVALUATION_LETTERS[Evaluation.EVALUATION_INCORRECT]
_QUESTION = re.compile(r"\?")
# A student's next act.
REACTIONS = ("answers", "asks", "neither")
SPEAKERS = ("student", "tutor")
# Lengths are shown for these turns.
SHOWN_TURNS = (1, 2, 3, 5, 8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A turn: the student's message and the tutor's reply; either may be empty."""

    student: str
    tutor: str
    is_wrong: bool = False
    # The tutor's act, in the words of the recipe's label; empty if it has none.
    act: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    turns: Sequence[Exchange]
    # The questions of the problem's steps, and the values of its known mistakes with their misconceptions.
    asks: Sequence[str] = ()
    question: str = ""
    # Right values on the way and numbers of formulas, which a wrong reply may name, too.
    results: Sequence[float] = ()
    slips: Sequence[tuple[float, str]] = ()

    def said(self, speaker: str) -> Iterator[str]:
        return filter(None, (getattr(turn, speaker) for turn in self.turns))

    def uptakes(self) -> Iterator[float]:
        """Yields for each message that says something the share of its words that the reply takes up."""
        answered = (turn for turn in self.turns if turn.student and turn.tutor)
        shares = (uptake(words(turn.student), words(turn.tutor)) for turn in answered)
        return (one for one in shares if one is not None)


@dataclass(kw_only=True)
class Manner:
    talks: list[Talk] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch) -> None:
        if len(self.talks) < MOST:
            self.talks += list(_talks(batch))[: MOST - len(self.talks)]

    @property
    def is_spoken(self) -> bool:
        return any(True for talk in self.talks for speaker in SPEAKERS for _ in talk.said(speaker))

    def openings(self, size: int = 0) -> float:
        """Returns the share of different first messages of the one who begins, expected of `size` conversations."""
        firsts = Counter(" ".join(words(first)) for talk in self.talks if (first := _opening(talk)))
        return _distinct(firsts, size or firsts.total())

    def variety(self, speaker: str) -> float:
        """Returns the share of different runs of three words in groups of conversations of one size."""
        groups = [self.talks[start : start + GROUP] for start in range(0, len(self.talks), GROUP)]
        full = [group for group in groups if len(group) == GROUP] or groups[:1]
        found = [[run for talk in group for text in talk.said(speaker) for run in _runs(text)] for group in full]
        shares = [len(set(runs)) / len(runs) for runs in found if runs]
        return sum(shares) / max(len(shares), 1)

    def uptake(self) -> float:
        return _mean([one for talk in self.talks for one in talk.uptakes()])

    def repetition(self) -> float:
        """Returns the share of a tutor's runs of words that this tutor has said before."""
        again = []
        for talk in self.talks:
            before = set[tuple[str, ...]]()
            for text in talk.said("tutor"):
                runs = list(_runs(text))
                again += [sum(run in before for run in runs) / len(runs)] if runs and before else []
                before.update(runs)
        return _mean(again)

    def verbatim(self) -> tuple[int, int]:
        """Counts the replies that hold a question of the problem's steps word for word, and all of such problems."""
        replies = [(text, talk.asks) for talk in self.talks if talk.asks for text in talk.said("tutor")]
        return sum(any(ask in _plain(text) for ask in asks) for text, asks in replies), len(replies)

    def causes(self) -> tuple[int, int, int]:
        """Counts wrong replies with a known mistake's value or words, those with a named one, all with a wrong number.

        A number follows from a mistake, too, if a student goes on to calculate it from one, or says it again later.
        """
        known = named_ones = whole = 0
        for talk in self.talks:
            right = [*talk.results, *(number.value for number in numbers_in_digits(talk.question))]
            slips = list(talk.slips)
            for turn in talk.turns if slips else ():
                values = [number.value for number in numbers_in_digits(turn.student)] if turn.is_wrong else []
                found = [
                    because
                    for value, because in slips
                    if any(_is_same(value, one) for one in values) or (values and _says(turn.student, because))
                ]
                wrong = [value for value in values if not any(_is_same(value, one) for one in right)]
                slips += [(value, max(found)) for value in wrong if found]
                whole += bool(wrong or found)
                known += bool(found)
                named_ones += any(found)
        return known, named_ones, whole

    def after(self) -> Mapping[str, Counter[str]]:
        """Counts what students do after each act of a tutor: "answers", "asks" or "neither"."""
        found: dict[str, Counter[str]] = {}
        for talk in self.talks:
            for turn, following in pairwise(talk.turns):
                if turn.tutor and following.student:
                    act = turn.act or ("asks" if _QUESTION.search(turn.tutor) else "tells")
                    found.setdefault(act, Counter())[_reaction(following.student)] += 1
        return found

    def words_by_turn(self, speaker: str) -> Mapping[int, float]:
        """Returns the mean number of words of a speaker's first, second, .. message."""
        spoken = [list(talk.said(speaker)) for talk in self.talks]
        return {
            turn: _mean([len(words(said[turn - 1])) for said in spoken if len(said) >= turn])
            for turn in SHOWN_TURNS
            if any(len(said) >= turn for said in spoken)
        }

    def figures(self) -> list[tuple[str, str]]:
        """Returns the measures as rows of a table; none for a dataset in which nobody speaks."""
        if not self.is_spoken:
            return []
        held, replies = self.verbatim()
        known, named_ones, wrong = self.causes()
        return [
            ("different openings", f"{self.openings():.2f}"),
            *((f"different runs of three words, {one}", f"{self.variety(one):.2f}") for one in SPEAKERS),
            ("student's words that the tutor takes up", f"{self.uptake():.2f}"),
            ("tutor's words that it has said before", f"{self.repetition():.2f}"),
            *([("replies that hold a planned question word for word", share(held, replies))] if replies else []),
            *([("wrong replies with the value or words of a known mistake", share(known, wrong))] if wrong else []),
            *([("wrong replies that follow from a named misconception", share(named_ones, wrong))] if wrong else []),
            *(
                (f"words by turn, {one}", ", ".join(f"{turn}: {n:.0f}" for turn, n in self.words_by_turn(one).items()))
                for one in SPEAKERS
            ),
        ]

    def reactions(self) -> list[tuple[str, ...]]:
        """Returns what students do after each act, as rows of a table: the most frequent acts first."""
        ordered = sorted(self.after().items(), key=lambda row: (-row[1].total(), row[0]))
        return [(act, *(share(did[name], did.total()) for name in REACTIONS)) for act, did in ordered]


def _talks(batch: pa.RecordBatch) -> Iterator[Talk]:
    columns = columns_of(recipe_of(batch)).items()
    response, meanings = next(((name, column.words) for name, column in columns if column.response), ("", {}))
    for told, asked in zip(dialogues(batch.select(["run", "problem", "turns"])), _planned(batch), strict=True):
        solved = [step for step in told.steps if step.get("result")]
        formulas = (step.get("expression") or "" for step in told.steps)
        yield Talk(
            turns=[_exchange(turn, response, meanings) for turn in told.turns],
            question=told.question,
            asks=[_plain(ask) for ask in (*(step["ask"] for step in told.steps if step.get("ask")), *asked)],
            results=[
                *(step["result"]["value"] for step in solved),
                *(number.value for formula in formulas for number in numbers_in_digits(formula)),
            ],
            slips=[(slip["value"], slip.get("because") or "") for step in solved for slip in step.get("slips") or ()],
        )


def _exchange(turn: exports.Exchange, response: str, meanings: Mapping[str, str]) -> Exchange:
    act = str(turn.labels.get(response, ""))
    return Exchange(
        student=turn.student or "",
        tutor=turn.reply or "",
        is_wrong=turn.intent == "wrong" if turn.intent else turn.evaluation == _INCORRECT,
        act=f"{act} {meanings.get(act, '')}".strip(),
    )


def _planned(batch: pa.RecordBatch) -> Iterator[Sequence[str]]:
    """Yields for each conversation the questions that a plan among its labels puts."""
    columns = columns_of(recipe_of(batch))
    names = [name for name, column in columns.items() if column.asks]
    texts = [label_texts(batch, name, f"{{{columns[name].asks}}}") for name in names]
    return (
        ([line for text in row for line in text.splitlines()] for row in zip(*texts, strict=True))
        if texts
        else repeat((), len(batch))
    )


def _opening(talk: Talk) -> str:
    """Returns the first message, without the problem that it quotes."""
    question = _plain(talk.question)
    said = (_plain(text) for turn in talk.turns for text in (turn.student, turn.tutor))
    own = (text.replace(question, "") if question else text for text in said)
    return next((text for text in own if text), "")


def _distinct(found: Counter[str], size: int) -> float:
    """Returns the share of different ones that a draw of `size` of them is expected to hold."""
    whole = found.total()
    if not whole or size >= whole:
        return len(found) / max(whole, 1)
    draws = comb(whole, size)
    # Each is missing from the draws of the others alone.
    expected = sum(1 - comb(whole - count, size) / draws for count in found.values())
    # More than all of them only by rounding.
    return min(expected / size, 1.0)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    said = words(text)
    return zip(*(said[start:] for start in range(RUN)), strict=False)


def _reaction(text: str) -> str:
    if any(True for _ in numbers_in_digits(text)):
        return "answers"
    return "asks" if _QUESTION.search(text) else "neither"


def _says(text: str, because: str) -> bool:
    """Whether a student names its misconception, perhaps within a sentence: "Well, because I read 12 as 21, ..."."""
    return bool(because) and because.rstrip(".").casefold() in text.casefold()


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * abs(one)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
