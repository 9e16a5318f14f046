"""`soliloquy prompts` shows what a cache of prefixes holds of a recipe's prompts, with or without a dataset."""

import json

import pytest

from tests.e2e.runs import SOLILOQUY, said


@pytest.mark.parametrize(
    ("recipe", "least"),
    [
        ("soliloquy", 0.65),
        *(pytest.param(*each, marks=pytest.mark.thorough) for each in (("mathdial", 0.65), ("scaffold", 0.65))),
    ],
)
def test_caches_from_128_tokens_on_hold_most_of_the_prompts_that_the_scripted_model_reads(
    recipe: str, least: float
) -> None:
    result = said([SOLILOQUY, "prompts", recipe, "--json"])
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["total"]["prompts"] > 100
    assert told["total"]["held"]["0"] > told["total"]["held"]["128"] >= least
