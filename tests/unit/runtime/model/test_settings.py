"""One file says which model answers a role; what is wrong in it is named, with what is allowed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import in_batches, read_models, shipped_models
from tests.cases import each_case

HOSTED = '[endpoints.hosted]\nengine = "openai"\nbase_url = "https://api.example.com/v1"\n'
TUNED = '[endpoints.tuned]\nengine = "ray"\naddress = "127.0.0.1:9000"\n'


def read(folder: Path, text: str) -> Models:
    file = folder / "models.toml"
    file.write_text(text, "utf-8")
    return read_models(file)


def test_without_a_file_every_role_is_played_by_the_scripted_model() -> None:
    models = shipped_models()
    assert models.is_scripted
    assert {"student", "tutor", "codegen", "composer"} <= set(models.roles)
    assert models.identity() == {"model": "scripted"}


def test_a_file_needs_only_what_differs(tmp_path: Path) -> None:
    models = read(tmp_path, HOSTED + "[roles.student]\ntemperature = 1.1\n")
    shipped = shipped_models().roles
    assert models.roles["student"][0].temperature == 1.1
    assert models.roles["student"][0].max_tokens == shipped["student"][0].max_tokens
    assert models.roles["tutor"] == (replace(shipped["tutor"][0], endpoint="hosted"),)
    assert set(models.used) == {"hosted"}


def test_the_reader_is_the_tutor_unless_it_is_named(tmp_path: Path) -> None:
    models = read(tmp_path, 'endpoint = "hosted"\n' + HOSTED + TUNED + '[roles.tutor]\nendpoint = "tuned"\n')
    assert models.roles["reader"][0].endpoint == "tuned"
    named = '[roles.tutor]\nendpoint = "tuned"\n[roles.reader]\nendpoint = "hosted"\n'
    assert read(tmp_path, 'endpoint = "hosted"\n' + HOSTED + TUNED + named).roles["reader"][0].endpoint == "hosted"


def test_the_sampler_is_the_planner_unless_it_is_named(tmp_path: Path) -> None:
    models = read(tmp_path, 'endpoint = "hosted"\n' + HOSTED + TUNED + '[roles.planner]\nendpoint = "tuned"\n')
    assert models.roles["sampler"][0].endpoint == "tuned"
    mixed = '[[roles.sampler]]\nendpoint = "tuned"\nweight = 2\n[[roles.sampler]]\nendpoint = "hosted"\n'
    models = read(tmp_path, 'endpoint = "hosted"\n' + HOSTED + TUNED + mixed)
    assert [member.endpoint for member in models.roles["sampler"]] == ["tuned", "hosted"]
    assert models.roles["planner"][0].endpoint == "hosted"


def test_roles_may_be_answered_in_different_places(tmp_path: Path) -> None:
    models = read(
        tmp_path, f'endpoint = "hosted"\n{HOSTED}{TUNED}[roles.composer]\nendpoint = "tuned"\nadapter = "tutor-1"\n'
    )
    assert [endpoint.address for endpoint in models.asked("composer")] == ["127.0.0.1:9000"]
    assert [endpoint.engine for endpoint in models.asked("student")] == ["openai"]
    assert set(models.used) == {"hosted", "tuned"}
    assert models.identity()["roles"]["composer"]["adapter"] == "tutor-1"


def test_a_run_is_the_same_wherever_its_endpoint_is_and_whatever_it_costs(tmp_path: Path) -> None:
    here = read(tmp_path, HOSTED)
    there = read(tmp_path, HOSTED.replace("api.", "eu.") + "prompt_price = 3.0\ncompletion_price = 9.0\ntimeout = 5\n")
    assert here.identity() == read(tmp_path, HOSTED + "batch = true\n").identity()
    assert here.identity() == there.identity()
    assert here.identity() != read(tmp_path, HOSTED + 'model = "large"\n').identity()
    assert here.identity() != read(tmp_path, HOSTED + "[roles.tutor]\ntop_p = 0.5\n").identity()


def test_roles_mix_batches_and_single_requests_by_their_endpoints(tmp_path: Path) -> None:
    quick = HOSTED.replace("endpoints.hosted", "endpoints.quick")
    own = f'endpoint = "hosted"\n{HOSTED}batch = true\nbatch_size = 9\n{quick}[roles.tutor]\nendpoint = "quick"\n'
    models = read(tmp_path, own)
    assert [models.asked(role)[0].batch for role in ("student", "tutor")] == [True, False]
    assert models.has_batches
    alone = read(tmp_path, HOSTED)
    assert not alone.has_batches
    assert in_batches(alone).asked("tutor")[0].batch


@each_case
def test_batches_where_there_are_none_are_refused(tmp_path: Path, settings: str, why: str) -> None:
    with pytest.raises(Failure, match=why):
        read(tmp_path, settings)


def test_message_batches_hold_as_many_requests_as_their_api_takes(tmp_path: Path) -> None:
    read(tmp_path, HOSTED + 'batch = true\ndialect = "anthropic"\nbatch_size = 100_000\n')


MIXTURE = """
[[roles.tutor]]
endpoint = "hosted"
weight = 0.3

[[roles.tutor]]
endpoint = "tuned"
adapter = "tutor-1"
weight = 0.7
"""


def test_a_prompt_has_its_own_settings_and_those_of_its_role_otherwise(tmp_path: Path) -> None:
    models = read(
        tmp_path,
        f'endpoint = "hosted"\n{HOSTED}{TUNED}[roles.planner]\nendpoint = "tuned"\nadapter = "a"\ntop_p = 0.5\n'
        '[prompts."mathdial/solving"]\nmax_tokens = 9\nreasoning_effort = "low"\n'
        '[prompts."mathdial/describing"]\nendpoint = "hosted"\n',
    )
    planner = models.drawn("planner", "any")
    assert models.for_prompt(planner, "soliloquy/enriching") == planner
    solving = models.for_prompt(planner, "mathdial/solving")
    assert solving == replace(planner, max_tokens=9, reasoning_effort="low")
    # Another endpoint does not have the role's adapter.
    describing = models.for_prompt(planner, "mathdial/describing")
    assert describing == replace(planner, endpoint="hosted", adapter="")
    assert [endpoint.engine for endpoint in models.asked("planner", "mathdial/describing")] == ["openai"]


def test_a_conversation_keeps_its_member_of_a_mixture_and_weights_say_how_many_have_it(tmp_path: Path) -> None:
    models = read(tmp_path, f'endpoint = "hosted"\n{HOSTED}{TUNED}{MIXTURE}')
    drawn = [models.drawn("tutor", f"conversation {number}").endpoint for number in range(2_000)]
    assert [models.drawn("tutor", f"conversation {number}").endpoint for number in range(2_000)] == drawn
    assert 540 < drawn.count("hosted") < 660
    assert models.drawn("tutor", "any").top_p == shipped_models().roles["tutor"][0].top_p


def test_two_mixtures_are_drawn_apart_from_each_other(tmp_path: Path) -> None:
    both = MIXTURE + MIXTURE.replace("tutor]]", "composer]]")
    models = read(tmp_path, f'endpoint = "hosted"\n{HOSTED}{TUNED}{both}')
    pairs = {tuple(models.drawn(role, str(number)).endpoint for role in ("tutor", "composer")) for number in range(100)}
    assert len(pairs) == 4


def test_mixtures_and_settings_of_prompts_make_other_runs(tmp_path: Path) -> None:
    usual = f'endpoint = "hosted"\n{HOSTED}{TUNED}'
    further = [
        "",
        MIXTURE,
        MIXTURE.replace("0.3", "0.4"),
        '[prompts."mathdial/solving"]\ntemperature = 0.4\n',
        '[prompts."mathdial/solving"]\nendpoint = "tuned"\n',
        '[roles.tutor]\nreasoning_effort = "high"\n',
        "[roles.student]\nbest_of = 3\n",
    ]
    identities = [json.dumps(read(tmp_path, usual + text).identity()) for text in further]
    assert len(set(identities)) == len(further)
    several = read(tmp_path, "[roles.student]\nbest_of = 2\n")
    assert several.identity() == {"model": "scripted", "best_of": {"student": [2]}}


@each_case
def test_what_cannot_be_is_named_with_what_can(tmp_path: Path, text: str, named: list[str]) -> None:
    with pytest.raises(Failure) as refused:
        read(tmp_path, text)
    assert all(part in str(refused.value) for part in [*named, "models.toml"])


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        read(tmp_path, HOSTED.replace("api.", "me:hunter2@api."))
    assert "hunter2" not in str(refused.value)
    assert "key_file" in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="absent"):
        read_models(tmp_path / "absent")
