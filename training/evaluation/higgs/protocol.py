"""The evaluation of the Code Soliloquies paper: questions that no training has seen, each answered rightly and wrongly.

The paper had a person judge 25 questions; here the truth check and the sandbox do, and there may be any number.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from training.evaluation.higgs.cases import Rehearsal, TutorCase, numeric_steps
from training.evaluation.higgs.judging import JudgedCase, judge, judge_unanswered
from training.evaluation.recipe_loop import RecipeLoop, TooFewCases, run_bounded

# Problems looked at for each question: most can be put, and a bank may have none without a calculation.
_LOOKED_AT = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCases:
    cases: Sequence[TutorCase]
    # Questions that could not be put, once with a right and once with a wrong number.
    passed_over: int

    @property
    def digest(self) -> str:
        """Two evaluations with the same digest put the same cases."""
        put = [[case.id, case.kind, *_texts(case.conversation)] for case in self.cases]
        return hashlib.sha256(json.dumps(put).encode()).hexdigest()


async def draw_cases(problems: Iterable[Problem], rehearsal: Rehearsal, *, questions: int) -> DrawnCases:
    """Of each question the right and the wrong answer; and of each one case in which nothing is to be calculated.

    Those are its opening or, for every second one as far as there are any, a word about a question of concepts.
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
            f"only {len(numeric)} of {questions} questions can be put, {passed_over} were passed over: ask for fewer"
        )
    return DrawnCases(cases=list(_dealt(numeric, in_words)), passed_over=passed_over)


def _dealt(numeric: Sequence[Sequence[TutorCase]], in_words: Sequence[TutorCase]) -> Iterator[TutorCase]:
    """A word about concepts takes the place of every second opening."""
    for number, (right, wrong, opening) in enumerate(numeric):
        yield from (right, wrong)
        concept = in_words[number // 2] if number % 2 and number // 2 < len(in_words) else None
        yield concept or opening


async def evaluate_cases(
    cases: Sequence[TutorCase], tutoring: RecipeLoop, *, at_once: int, tell: Callable[[JudgedCase], None]
) -> list[JudgedCase]:
    """Each case put to the tutor and judged, in their order."""

    async def put(case: TutorCase) -> JudgedCase:
        try:
            result = judge(case, await tutoring.answered(case.conversation))
        except (ModelRefused, ModelFailed) as error:
            result = judge_unanswered(case, str(error))
        tell(result)
        return result

    return await run_bounded(cases, put, at_once=at_once)


def _texts(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        yield from (turn.student.text, turn.tutor.text)
