"""Checks what a run's content depends on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from soliloquy.problems.sources import problem_source
from soliloquy.runs.plan import Plan, Unplayable, Unranked, difference, require_playable
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import shipped_models

HOSTED = Endpoint(
    engine="openai", base_url="https://api.example.com/v1", model="large", prompt_price=2.0, completion_price=0.0
)
ROLES = ", ".join(sorted(shipped_models().roles))


def plan(models: Models) -> Plan:
    return Plan(
        recipe="soliloquy",
        problems="physics",
        problems_sha256="p",
        models=models,
        prompts_sha256={},
        conversations=5,
        seed=7,
        noise="none",
        max_turns=20,
        max_attempts=10,
        enrich=False,
        workers=1,
        in_flight=64,
        latency=0.0,
    )


def at(endpoint: Endpoint) -> Models:
    return shipped_models().only_at(endpoint)


def test_a_recipe_that_the_scripted_model_has_no_answers_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy.runs.plan.speakers_of", lambda recipe: {})
    source = problem_source("physics")
    with pytest.raises(Unplayable, match="the scripted model knows no prompt of the recipe soliloquy: ask another"):
        require_playable(shipped_models(), source, "soliloquy")
    require_playable(at(HOSTED), source, "soliloquy")


def test_the_id_of_a_run_of_the_scripted_model_follows_from_no_sampling() -> None:
    shipped = shipped_models()
    hotter = shipped.changed(lambda role: replace(role, temperature=1.9))
    assert plan(hotter).run() == plan(shipped).run()


@pytest.mark.parametrize(
    ("kept", "asked", "words"),
    [
        (shipped_models(), at(HOSTED), "model scripted, not large (openai)"),
        (at(HOSTED), at(replace(HOSTED, model="small")), "model large (openai), not small (openai)"),
        (at(HOSTED), at(replace(HOSTED, schema="none")), f"roles {ROLES} changed since"),
        (at(HOSTED), at(replace(HOSTED, base_url="http://127.0.0.1:1/v1", prompt_price=9.0)), ""),
    ],
)
def test_another_model_is_another_run_and_another_address_is_not(kept: Models, asked: Models, words: str) -> None:
    assert difference(plan(kept).identity(), plan(asked).identity()) == words
    assert (plan(kept).run().id == plan(asked).run().id) == (not words)


def test_other_classifiers_are_another_run_and_another_place_of_them_is_not(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("first", "again", "other")}
    for name, file in files.items():
        file.write_text("other" if name == "other" else "one")
    without = plan(shipped_models())
    first, again, other = (replace(without, classifiers=file) for file in files.values())
    assert first.run() == again.run()
    assert len({one.run().id for one in (without, first, other)}) == 3
    assert difference(first.identity(), without.identity()) == "its classifiers differ"


def test_a_check_and_a_demand_that_are_gone_make_another_run() -> None:
    kept = plan(shipped_models()).identity()
    assert difference(kept | {"checks": ["praise"]}, kept) == "checks praise, not none"
    assert difference(kept, kept | {"checks": ["praise", "tone"]}) == "checks none, not praise, tone"
    assert difference(kept | {"verified": True}, kept) == "verified True, not False"


def test_each_role_costs_what_its_tokens_cost_where_it_is_answered() -> None:
    used: dict[str, Any] = {"tutor": {"prompt": 1_000_000, "completion": 5}, "student": {"prompt": 1, "completion": 0}}
    assert plan(at(HOSTED)).cost(used) == {"tutor": 2.0, "student": 0.000002}
    assert plan(shipped_models()).cost(used) == {"tutor": 0.0, "student": 0.0}
    unpriced = plan(at(replace(HOSTED, prompt_price=None)))
    assert unpriced.cost(used) == {"tutor": None, "student": None}
    assert [*unpriced.prices().values()] == [None]


def test_several_versions_are_refused_where_the_recipe_ranks_none() -> None:
    several = shipped_models().changed(lambda role: replace(role, best_of=2), ["composer"])
    settings: dict[str, Any] = {
        name: getattr(plan(several), name)
        for name in ("problems", "models", "conversations", "seed", "noise", "max_turns", "max_attempts")
    }
    source = problem_source("arithmetic")
    settings |= {"workers": 1, "in_flight": 1, "latency": 0.0}
    assert Plan.of("mathdial", source, **settings).identity()["best_of"] == {"composer": [2]}
    with pytest.raises(Unranked, match="nothing in the recipe mathwell ranks its answers: remove best_of"):
        Plan.of("mathwell", source, **settings)
