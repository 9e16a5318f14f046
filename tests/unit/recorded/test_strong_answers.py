"""Answers as a strong model writes them are read; what is right in them is not sent back, and planted mistakes are."""

import tomllib
from collections.abc import Mapping

import pytest

from soliloquy.recipes.recipe import find
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from tests.unit.papers.mathwell.writing import commissioned, made
from tests.unit.recorded.speakers import HERE, RecordedSpeakers, played, recorded, sent_back

# So many conversations draw each state that the answers are for.
CONVERSATIONS = 40
RECIPES = ("scaffold", "soliloquy", "mathdial")


@pytest.mark.parametrize("recipe", RECIPES)
async def test_right_answers_are_read_and_not_sent_back(recipe: str) -> None:
    problem, answers = recorded(recipe)
    right = [one for one in answers if not one.planted]
    speakers = RecordedSpeakers(right)
    back = [
        (one.text, why)
        for seed in range(CONVERSATIONS)
        for text, why in sent_back(await played(recipe, problem, speakers, seed=seed))
        for one in right
        if one.text == text
    ]
    assert back == []
    assert [one for one in right if not speakers.given[one.text]] == []


@pytest.mark.parametrize(
    ("recipe", "place"),
    [(name, place) for name in RECIPES for place, one in enumerate(recorded(name)[1]) if one.planted],
)
async def test_a_planted_mistake_is_sent_back(recipe: str, place: int) -> None:
    problem, answers = recorded(recipe)
    planted = answers[place]
    speakers = RecordedSpeakers([one for one in answers if not one.planted or one is planted])
    seed, why = 0, []
    while not speakers.given[planted.text]:
        conversation = await played(recipe, problem, speakers, seed=seed)
        why = [reason for text, reason in sent_back(conversation) if text == planted.text]
        seed += 1
        assert seed < CONVERSATIONS
    assert why == [planted.planted] * speakers.given[planted.text]


WORD_PROBLEMS = tomllib.loads((HERE / "mathwell.toml").read_text("utf-8"))["problems"]


class Writer:
    """Writes and judges one word problem."""

    def __init__(self, recorded: Mapping[str, str]) -> None:
        self._answers = {"mathwell/writing": recorded["writing"], "mathwell/judging": recorded["judging"]}

    async def generate(self, request: GenerateRequest) -> Completion:
        return Completion(text=self._answers[request.prompt].strip(), model="recorded", finish=Finish.FINISH_STOP)


@pytest.mark.parametrize("place", range(len(WORD_PROBLEMS)))
async def test_a_good_word_problem_is_kept_and_a_planted_fault_keeps_one_out(place: int) -> None:
    told = WORD_PROBLEMS[place]
    written = await made(commissioned(told["topic"]), Writer(told))
    faults = find("mathwell").check(written).faults
    assert list(sent_back(written)) == []
    assert not faults if "planted" not in told else [one for one in faults if one.startswith(told["planted"])]
