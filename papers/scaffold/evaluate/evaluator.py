"""Runs ScaffoldEval: holds each case as a dialogue, scores it, and measures what the student gained."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from soliloquy.runtime.ask import Unusable
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import ModelCall
from soliloquy_papers.scaffold.evaluate.dialogues import (
    COOPERATIVE,
    SEGMENT,
    DialogueCase,
    HeldDialogue,
    answer_segment,
    hold_dialogue,
)
from soliloquy_papers.scaffold.evaluate.dimensions import Score, score_dialogue
from soliloquy_papers.scaffold.evaluate.signs import tells_answer
from soliloquy_papers.scaffold.evaluate.tutors import EvaluatedTutor
from soliloquy_papers.scaffold.solve_rate import count_solved
from soliloquy_training.evaluation.cases import NO_ANSWER


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveGain:
    """How many tries solve the problem before a dialogue, and after it without its last reply."""

    tries: int
    before: int
    after: int
    # Whether the tutor had told the final answer by then.
    leaked: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredDialogue:
    dialogue: HeldDialogue
    scores: Sequence[Score]
    gained: SolveGain | None
    calls: Sequence[ModelCall]

    @property
    def passed(self) -> dict[str, bool]:
        """Maps each dimension to whether all of its scores are perfect."""
        names = dict.fromkeys(one.dimension for one in self.scores)
        by_name = {name: [one.score for one in self.scores if one.dimension == name] for name in names}
        return {name: all(score == 1 for score in scores) for name, scores in by_name.items() if None not in scores}

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.dialogue.case.id,
            "problem": self.dialogue.case.problem.source,
            "passed": self.passed,
            "scores": [asdict(one) for one in self.scores],
            "gained": asdict(self.gained) if self.gained else None,
            "ended": self.dialogue.ended,
            "broken": self.dialogue.broken,
            "rounds": [asdict(one) for one in self.dialogue.rounds],
        }


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Evaluates a tutor, with a judge for what no rule can decide and a student who solves the problems."""

    tutor: Callable[[DialogueCase], EvaluatedTutor]
    judge: Model | None
    student: Model
    tries: int

    async def evaluate(self, case: DialogueCase) -> ScoredDialogue:
        tutor, dialogue = self.tutor(case), HeldDialogue(case=case)
        try:
            await (answer_segment if case.kind == SEGMENT else hold_dialogue)(dialogue, tutor.reply)
        except (Unusable, *NO_ANSWER) as error:
            dialogue.broken = str(error)
        scores = [one async for one in score_dialogue(dialogue, self.judge)]
        gained = await self._gained(dialogue) if case.kind == COOPERATIVE and self.tries else None
        return ScoredDialogue(dialogue=dialogue, scores=scores, gained=gained, calls=tutor.calls)

    async def _gained(self, dialogue: HeldDialogue) -> SolveGain:
        """Leaves out the reply that ends the dialogue, since it contains the solution."""
        case = dialogue.case
        rounds = dialogue.rounds[:-1] if dialogue.ended else dialogue.rounds
        talk = "\n".join(one.lines for one in rounds)
        before = await count_solved(case.problem, self.student, tries=self.tries, seed=case.seed)
        after = await count_solved(case.problem, self.student, tries=self.tries, seed=case.seed, talk=talk)
        leaked = any(tells_answer(one.tutor, case.problem) for one in rounds)
        return SolveGain(tries=self.tries, before=before, after=after, leaked=leaked)
