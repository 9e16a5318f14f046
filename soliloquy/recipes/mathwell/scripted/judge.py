"""The scripted judge, which repeats the verdicts of the rules."""

from random import Random

from soliloquy.recipes.mathwell.answers import Judgement
from soliloquy.recipes.mathwell.criteria.scoring import score
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt


def judge(reading: ParsedPrompt, rng: Random) -> str:
    returned = reading.section("returned").strip()
    problem = WordProblem(
        question=reading.section("question").strip(),
        code=reading.section("function").strip(),
        answer=float(returned) if returned != "nothing" else None,
    )
    scores = score(problem)
    said: dict[str, str] = {}
    for criterion in Criterion:
        said[criterion.value] = "y" if scores.meets(criterion) else "n"
        said[f"why_{criterion.value}"] = next(one.because for one in scores.opinions if one.criterion == criterion)
    return Judgement.written(**said)
