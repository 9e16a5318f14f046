"""Checks thousands of scripted conversations, grown in one process without a transport."""

import asyncio
import json
import time
from collections import Counter

import pytest

from soliloquy.recipes.check_report import TruthReport
from soliloquy.recipes.mathdial.moves import belongs, intent_name, move_name
from soliloquy.recipes.mathdial.recipe import RECIPE
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.soliloquy.codes import ACTIONS
from soliloquy.recipes.soliloquy.rules import check
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from tests.unit.scripted.dialling import MOVES, dialled, shares, told_at
from tests.unit.scripted.growing import grown
from tests.unit.scripted.scaffolding import scaffolded, told_early
from tests.unit.scripted.scaffolding import shares as state_shares

SEED = 17
COUNT = 5_000


@pytest.mark.timeout(1800)
def test_five_thousand_conversations_are_sound_and_hold_every_code() -> None:
    report = asyncio.run(_grown())
    found = report.as_json()
    print(json.dumps({name: found[name] for name in ("figures", "codes", "combinations", "most_alike")}, indent=1))
    assert found["faults"] == []
    assert report.unlike_meant == 0
    assert report.figures()["realised_error_rate"] == pytest.approx(0.1, abs=0.005)
    assert report.figures()["bigram_entropy"] >= 3.5
    assert set(report.occurring("evaluation")) == set(ACTIONS)
    assert set(report.occurring("action")) == {str(number) for number in range(1, 13)}
    assert set(report.occurring("state")) == {"q", "r", "t"}


async def _grown() -> TruthReport:
    report = TruthReport()
    for ordinal in range(COUNT):
        conversation = await grown(ordinal, seed=SEED)
        report.add(conversation.id, check(conversation))
    return report


@pytest.mark.timeout(1800)
def test_two_thousand_dialogues_move_as_people_do() -> None:
    every = asyncio.run(_dialled(2_000))
    fit = [one for one in every if one.ending != Ending.ENDING_UNFIT]
    moves, telling = shares(fit), [shares(fit, slice(turn, turn + 1))["telling"] for turn in range(7)]
    solved = sum(one.ending == Ending.ENDING_SOLVED for one in fit) / len(fit)
    first = list(map(told_at, fit))
    told = [sum(at <= k for at in first) / len(fit) for k in range(1, 11)]
    kept = sum(not RECIPE.faults(one) for one in fit) / len(fit)
    figures = {"dialogues": len(fit), "moves": moves, "telling": telling, "solved": solved, "told": told, "kept": kept}
    print(json.dumps(figures, indent=1))
    assert moves["focus"] == pytest.approx(0.37, abs=0.05)
    assert sorted(MOVES, key=lambda move: -moves[move]) == list(MOVES)
    # The opening never tells the answer; later turns tell it increasingly often.
    assert sorted(telling) == telling
    assert solved >= 0.85
    assert told[4] <= 0.2
    assert kept >= 0.97
    assert all(belongs(move_name(turn.tutor), intent_name(turn.tutor)) for one in fit for turn in one.turns)


async def _dialled(count: int) -> list[Conversation]:
    return [one async for one in dialled(count, problems=count // 10, seed=SEED)]


@pytest.mark.timeout(3600)
def test_two_thousand_scaffolds_show_each_state_as_often_as_it_is_drawn_and_tell_nothing_early() -> None:
    every = asyncio.run(_scaffolded(2_000))
    recipe = find("scaffold")
    reasons = Counter(fault.partition(":")[0] for one in every for fault in recipe.faults(one))
    kept = [one for one in every if not recipe.faults(one)]
    lengths = [len(one.turns) for one in kept]
    found = state_shares(every, POLICY["states"]["turns"])
    early = [text for one in kept for text in told_early(one)]
    began = time.process_time()
    samples = sum(len(recipe.lessons(one)) for one in kept)
    per_second = samples / (time.process_time() - began)
    sent_back = Counter(rejected.judge for one in every for turn in one.turns for rejected in turn.rejected)
    figures = {
        "kept": len(kept),
        "reasons": reasons,
        "turns": {"least": min(lengths), "most": max(lengths), "mean": sum(lengths) / len(lengths)},
        "states": found,
        "sent_back": sent_back,
        "told_early": len(early),
        "samples_per_second": per_second,
    }
    print(json.dumps(figures, indent=1))
    assert found == pytest.approx(POLICY["states"]["shares"], abs=0.015)
    assert early == []
    assert 3 <= min(lengths) <= max(lengths) <= 14
    assert 6 <= sum(lengths) / len(lengths) <= 10
    assert len(kept) >= 0.95 * len(every)
    assert per_second >= 3_000


async def _scaffolded(count: int) -> list[Conversation]:
    return [one async for one in scaffolded(count, seed=SEED)]
