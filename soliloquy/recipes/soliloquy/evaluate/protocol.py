"""Runs the evaluation of the Code Soliloquies paper: held-out questions, each with a right and a wrong answer.

In the paper a person judged 25 questions; here the truth check and the sandbox judge any number.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from soliloquy.recipes.soliloquy.evaluate.cases import Rehearsal, TutorCase, numeric_steps
from soliloquy.recipes.soliloquy.evaluate.judging import JudgedCase, judge, judge_unanswered
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from training.evaluation.recipe_loop import RecipeLoop, TooFewCases, run_bounded

# The number of problems to try per question: most are suitable, but a bank may have some without a calculation.
_LOOKED_AT = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCases:
    cases: Sequence[TutorCase]
    # Questions for which no right or no wrong answer came about.
    passed_over: int

    @property
    def digest(self) -> str:
        """Identifies the cases: evaluations with the same digest can be compared."""
        put = [[case.id, case.kind, *_texts(case.conversation)] for case in self.cases]
        return hashlib.sha256(json.dumps(put).encode()).hexdigest()


async def draw_cases(problems: Iterable[Problem], rehearsal: Rehearsal, *, questions: int) -> DrawnCases:
    """Draws a right and a wrong answer to each question, and one case per question without a calculation.

    The latter is the opening or, for every second question, a message in words about a conceptual question if there is
    one.
    """
    numeric: list[list[TutorCase]] = []
    in_words: list[TutorCase] = []
    passed_over = 0
    for problem in islice(problems, _LOOKED_AT * questions):
        wanted = len(numeric) < questions, len(in_words) < questions // 2
        if not any(wanted):
            break
        if not numeric_steps(problem):
            if wanted[1] and (case := await rehearsal.concept(problem)):
                in_words.append(case)
        elif wanted[0]:
            found = await rehearsal.numeric(problem)
            passed_over += not found
            numeric += [found] if found else []
    if len(numeric) < questions:
        raise TooFewCases(
            f"only {len(numeric)} of {questions} questions are suitable ({passed_over} skipped): ask for fewer"
        )
    return DrawnCases(cases=list(_interleave(numeric, in_words)), passed_over=passed_over)


def _interleave(numeric: Sequence[Sequence[TutorCase]], in_words: Sequence[TutorCase]) -> Iterator[TutorCase]:
    """Replaces every second opening by a message in words."""
    for number, (right, wrong, opening) in enumerate(numeric):
        yield from (right, wrong)
        concept = in_words[number // 2] if number % 2 and number // 2 < len(in_words) else None
        yield concept or opening


async def evaluate_cases(
    cases: Sequence[TutorCase], loop: RecipeLoop, *, at_once: int, on_result: Callable[[JudgedCase], None]
) -> list[JudgedCase]:
    """Has the tutor answer each case and judges the answers, in order."""

    async def evaluate(case: TutorCase) -> JudgedCase:
        try:
            return judge(case, await loop.answer(case.conversation))
        except (ModelRefused, ModelFailed) as error:
            return judge_unanswered(case, str(error))

    return await run_bounded(cases, evaluate, at_once=at_once, on_result=on_result)


def _texts(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        yield from (turn.student.text, turn.tutor.text)
