"""The writer: a problem of the bank with the operations that are wanted, told as a story about the topic."""

import json
from functools import cache
from pathlib import Path
from random import Random

from soliloquy.v1.conversation_pb2 import Problem

from services.recipes.mathwell.criteria.operations import operations_in
from services.recipes.programs import function_of
from services.recipes.scripted.phrasebook import Phrasebook, tables_in
from services.recipes.scripted.reading import Reading
from services.runtime.model import ModelRefused

# A topic's operations are a tenth of a bank's at the least.
_DRAWS = 400


@cache
def _book() -> Phrasebook:
    return Phrasebook(tables_in(Path(__file__).with_name("phrases")))


def write(reading: Reading, rng: Random) -> str:
    problem, function = _chosen(reading, rng)
    topic = reading.section("topic") if reading.has("topic") else ""
    # A commission that names none leaves the story as it is.
    story = [_book().one_of(rng, "stories", "about", topic=topic)] if topic else []
    answer = {"Problem": " ".join([*story, problem.question]), "Python Function": f"```python\n{function}\n```"}
    return json.dumps(answer, ensure_ascii=False)


def _chosen(reading: Reading, rng: Random) -> tuple[Problem, str]:
    wanted = set(reading.section("operations").split(", ")) if reading.has("operations") else None
    for _ in range(_DRAWS):
        problem = reading.drawn(rng)
        function = function_of(problem.steps)
        if function and (wanted is None or wanted.issuperset(operations_in(function, problem.question))):
            return problem, function
    raise ModelRefused(f"the scripted model has no problem that takes only {', '.join(sorted(wanted or ()))}")
