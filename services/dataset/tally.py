"""Counts over the conversations of a dataset."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

from soliloquy.v1.conversation_pb2 import Conversation, Ending, ModelCall, ParseOutcome

from services.recipes.agreement import agrees
from services.recipes.recipe import find
from services.runtime.values import status_name

ANSWERED_BY = ("role", "engine", "model", "adapter_digest")
_COUNTS = ("accepted", "rejected", "turns", "python_turns")
_COUNTERS = ("enrichment", "discarded", "unfit", "executions", "parse", "verdicts", "measures", "tokens", "answered")
_VERDICTS = {True: "agree", False: "contradict"}


@dataclass
class Tally:
    """Everything but the time a run took; the same dataset always has the same tally."""

    accepted: int = 0
    rejected: int = 0
    # How many have a detailed solution, and how many were to have one and have the plain one.
    enrichment: Counter[str] = field(default_factory=Counter)
    # What the planner made of problems and did not take; and why problems were no use to the recipe.
    discarded: Counter[str] = field(default_factory=Counter)
    unfit: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    python_turns: int = 0
    executions: Counter[str] = field(default_factory=Counter)
    parse: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=lambda: Counter(agree=0, contradict=0))
    # Of problems written to order that have an answer: how many, their tokens, and how many take each operation.
    measures: Counter[str] = field(default_factory=Counter)
    # By role and kind; and by role, engine, model and adapter's digest, how many calls they answered.
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: Counter[tuple[str, ...]] = field(default_factory=Counter)
    # Problems whose enrichment is among them: their conversations share it.
    enriched: set[str] = field(default_factory=set)
    # By role, engine, model, adapter and outcome: how many calls, their tokens in and out.
    _calls: dict[tuple[str, str, str, str, ParseOutcome], list[int]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, counts: dict[str, Any], enriched: set[str]) -> Self:
        """That which `as_json` told of."""
        tally = cls(enriched=enriched)
        tokens = {(role, kind): n for role, used in counts["tokens"].items() for kind, n in used.items()}
        answered = {tuple(row[name] for name in ANSWERED_BY): row["calls"] for row in counts["models"]}
        for name, held in (counts | {"tokens": tokens, "answered": answered}).items():
            if name in _COUNTS:
                setattr(tally, name, held)
            elif name in _COUNTERS:
                getattr(tally, name).update(held)
        return tally

    def __add__(self, other: Self) -> Self:
        """Of two that share the problems whose enrichment is counted."""
        total = type(self)(enriched=self.enriched)
        for tally in (self, other):
            tally._fold()
            for name in _COUNTS:
                setattr(total, name, getattr(total, name) + getattr(tally, name))
            for name in _COUNTERS:
                getattr(total, name).update(getattr(tally, name))
        return total

    def add(self, conversation: Conversation, *, accepted: bool) -> None:
        # What was imported may have no recipe, and so no rules.
        agreeing = find(conversation.run.recipe).agreeing if conversation.run.recipe else None
        self.accepted += accepted
        self.rejected += not accepted
        if conversation.ending == Ending.ENDING_UNFIT:
            self.unfit[conversation.ending_reason.partition(":")[0]] += 1
        if conversation.problem.HasField("enrichment"):
            enrichment = conversation.problem.enrichment
            self.enrichment["plain" if enrichment.plain_because else "detailed"] += 1
            if conversation.problem.id not in self.enriched:
                self.enriched.add(conversation.problem.id)
                self._add_calls(enrichment.calls)
                for one in chain(enrichment.confusion.discarded, enrichment.plan.discarded):
                    self.discarded[one.because] += one.samples
        if conversation.problem.HasField("authorship") and conversation.problem.HasField("answer"):
            measures = conversation.problem.authorship.measures
            self.measures.update({"problems": 1, "tokens": measures.tokens, **dict.fromkeys(measures.operations, 1)})
        for turn in conversation.turns:
            self.turns += 1
            self._add_calls(turn.calls)
            if turn.HasField("calculation"):
                self.python_turns += 1
                self.executions.update(status_name(attempt.execution) for attempt in turn.calculation.attempts)
                if agreeing and (found := agrees(turn, agreeing)) is not None:
                    self.verdicts[_VERDICTS[found]] += 1

    def _add_calls(self, calls: Iterable[ModelCall]) -> None:
        for call in calls:
            key = (call.role, call.engine, call.model, call.adapter_digest, call.outcome)
            told = self._calls.get(key) or self._calls.setdefault(key, [0, 0, 0])
            told[0] += 1
            told[1] += call.prompt_tokens
            told[2] += call.completion_tokens

    def _fold(self) -> None:
        """Enters the calls, of which a conversation has dozens, into what is told of them."""
        for (role, engine, model, digest, outcome), (number, prompt, completion) in self._calls.items():
            self.parse[ParseOutcome.Name(outcome).removeprefix("PARSE_OUTCOME_").lower()] += number
            self.tokens[role, "prompt"] += prompt
            self.tokens[role, "completion"] += completion
            self.answered[role, engine, model, digest] += number
        self._calls.clear()

    def as_json(self) -> dict[str, Any]:
        self._fold()
        return {
            "accepted": self.accepted,
            "rejected": self.rejected,
            "enrichment": dict(sorted(self.enrichment.items())),
            "discarded": dict(sorted(self.discarded.items())),
            "unfit": dict(sorted(self.unfit.items())),
            "turns": self.turns,
            "python_turns": self.python_turns,
            "executions": dict(sorted(self.executions.items())),
            "parse": dict(sorted(self.parse.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
            "measures": dict(sorted(self.measures.items())),
            "tokens": {role: self._tokens(role) for role in sorted({role for role, _ in self.tokens})},
            "models": [
                dict(zip(ANSWERED_BY, names, strict=True)) | {"calls": number}
                for names, number in sorted(self.answered.items())
            ],
        }

    def _tokens(self, role: str) -> dict[str, int]:
        return {kind: self.tokens[role, kind] for kind in ("prompt", "completion")}
