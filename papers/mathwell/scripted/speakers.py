"""The scripted writer, which gives a problem of the bank, and the scripted judge, which says what the rules find."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

from soliloquy.recipes.programs import steps_program
from soliloquy.recipes.scene import Scene, Speaker
from soliloquy.runtime.model import ModelRefused
from soliloquy.standin.phrasebook import Phrasebook, load_tables
from soliloquy.v1.conversation_pb2 import Problem, Ruling
from soliloquy_papers.mathwell.answers import Judgement, JudgementWithTopic, Reading
from soliloquy_papers.mathwell.commissions import POLICY, allowed_operations, commission_of
from soliloquy_papers.mathwell.criteria.operations import OPERATIONS, operations_in
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.topic import names_topic
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, WordProblem
from soliloquy_papers.mathwell.scripted.stories import LARGEST, compose

# A tenth of a bank's problems use only addition, or only multiplication.
_DRAWS = 100


@cache
def _book() -> Phrasebook:
    return Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def write(scene: Scene, rng: Random) -> str:
    """Composes a story about the topic; without one, or for other operations, writes a problem of the bank."""
    commission, composed = commission_of(scene.problem), None
    topic = commission.topic
    if topic:
        largest = min(POLICY["writing"]["largest"].get(str(commission.grade), LARGEST), LARGEST)
        composed = compose(topic, _wanted(scene), largest, _book(), rng)
    if composed is None:
        problem, function = _chosen(scene, rng)
        # Without a topic the story stays as it is.
        story = [_book().one_of(rng, "stories", "about", topic=topic)] if topic else []
        composed = " ".join([*story, problem.question]), function
    answer = {"Problem": composed[0], "Python Function": f"```python\n{composed[1]}\n```"}
    return json.dumps(answer, ensure_ascii=False)


def _wanted(scene: Scene) -> Sequence[str]:
    return allowed_operations(commission_of(scene.problem)) or OPERATIONS


def _chosen(scene: Scene, rng: Random) -> tuple[Problem, str]:
    """Returns the first problem with only the requested operations, or the nearest one."""
    wanted = _wanted(scene)
    nearest: tuple[Problem, str] | None = None
    fewest = len(OPERATIONS) + 1
    for _ in range(_DRAWS):
        problem = scene.draw_problem(rng)
        function = steps_program(problem.steps)
        others = set(operations_in(function, problem.question)).difference(wanted)
        if function and len(others) < fewest:
            nearest, fewest = (problem, function), len(others)
        if nearest and not fewest:
            return nearest
    if nearest is None:
        raise ModelRefused(
            "the scripted model needs a bank whose problems calculate: choose another one with --problems"
        )
    return nearest


def judge(scene: Scene, rng: Random) -> str:
    """Says no wherever a rule objects or has a doubt."""
    returned = scene.slot("answer")
    problem = WordProblem(
        question=scene.slot("question").strip(),
        code=scene.slot("code").strip(),
        answer=float(returned) if returned != "nothing" else None,
    )
    scores = score(problem)
    said: dict[str, str] = {}
    for criterion in Criterion:
        first = next(one for one in scores.opinions if one.criterion == criterion)
        said[criterion.value] = "y" if first.ruling == Ruling.RULING_YES else "n"
        said[f"why_{criterion.value}"] = first.because
    topic = commission_of(scene.problem).topic
    if not scene.slot("about"):
        return Judgement.written(**said)
    is_named = names_topic(problem.question, topic)
    why = "Its numbers belong to it." if is_named else f"Nothing in it is about {topic}."
    return JudgementWithTopic.written(**said, topic="y" if is_named else "n", why_topic=why)


def read(scene: Scene, rng: Random) -> str:
    """Misses what a rule misses that needs no program; knows no second reading."""
    problem = WordProblem(question=scene.slot("question").strip(), code="", answer=None)
    found = (one for one in score(problem).opinions if one.criterion == Criterion.SOLVABLE and one.judge != "rules")
    missing = next((one.because for one in found), "nothing")
    return Reading.written(missing=missing, other_reading="none", other_answer="none")


SPEAKERS: Mapping[str, Speaker] = {
    "mathwell/writing": write,
    "mathwell/judging": judge,
    "mathwell/reading": read,
}
