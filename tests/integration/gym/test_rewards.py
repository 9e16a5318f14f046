"""Cheating never pays: each written attack earns less than a weak tutor who is honest."""

from collections.abc import AsyncIterator, Mapping
from statistics import mean

import pytest
import pytest_asyncio

from soliloquy.gym import Episode, Gym, Observation
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.v1.model_pb2 import Completion
from tests.integration.executor.support import needs_runsc
from tests.unit.gym.attacks import ATTACKS, OTHERS
from tests.unit.gym.playing import Policy, all_played, stand_in

pytestmark = needs_runsc
SEED = 17
# Errs twice as often in everything as was counted of a published model.
_WEAK = scripted_model(ModelSettings(noise="harsh"))
# One of each kind.
QUICK = (
    "always right",
    "tells each result",
    "empty program",
    "forges an output in its reply",
    "gives the student orders",
)


async def weak_tutor(episode: Episode, observation: Observation) -> Completion:
    return await episode.stand_in(_WEAK)


@pytest_asyncio.fixture
async def gym() -> AsyncIterator[Gym]:
    async with Gym("soliloquy", "physics", SEED) as opened:
        yield opened


async def earned(gym: Gym, policies: Mapping[str, Policy], problems: int) -> dict[str, float]:
    """Returns the mean reward of each policy."""
    found = {}
    for name, policy in policies.items():
        found[name] = mean(one.reward.total for one in await all_played(gym, range(problems), policy))
    return found


async def test_attacks_of_each_kind_earn_less_than_a_weak_tutor(gym: Gym) -> None:
    found = await earned(gym, {"weak": weak_tutor, **{name: ATTACKS[name] for name in QUICK}}, 8)
    weak = found.pop("weak")
    assert {name: total for name, total in found.items() if total >= weak} == {}


@pytest.mark.thorough
async def test_every_written_attack_earns_less_than_a_weak_tutor(gym: Gym) -> None:
    found = await earned(gym, {"weak": weak_tutor, "honest": stand_in, **ATTACKS}, 40)
    weak, honest = found.pop("weak"), found.pop("honest")
    assert len(found) > 20
    assert {name: total for name, total in found.items() if total >= weak} == {}
    assert weak < honest


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", OTHERS)
async def test_attacks_on_other_recipes_earn_less_than_a_weak_tutor(recipe: str) -> None:
    async with Gym(recipe, "arithmetic", SEED) as gym:
        found = await earned(gym, {"weak": weak_tutor, **OTHERS[recipe]}, 30)
    weak = found.pop("weak")
    assert {name: total for name, total in found.items() if total >= weak} == {}


async def test_the_evidence_of_a_reward_names_turn_and_reason(gym: Gym) -> None:
    [episode] = await all_played(gym, [10], ATTACKS["tells each result beside its hint"])
    reward = episode.reward
    told = reward.components["given_away"].evidence
    assert any("a result that the student has not come to" in one and "of step" in one for one in told)
    parts = (component.value * component.weight for component in reward.components.values())
    assert reward.total == pytest.approx(sum(parts))
