"""One file says which model answers a role; what is wrong in it is named, with what is allowed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.endpoint.dialects import faults
from soliloquy.recipes.answers import Decision
from soliloquy.recipes.scaffold.answers import PlanAnswer
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.dialects import dialect_of, dialects
from soliloquy.runtime.model.keys import Key, key_of
from soliloquy.runtime.model.schemas import SchemaForm, forms_of
from soliloquy.runtime.model.settings import Endpoint, Models
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


DECISION = Decision.json_schema()


def forms(schema: str, dialect: str, strongest: str = "json_schema") -> dict[str, SchemaForm]:
    return {form.name: form for form in forms_of(schema, "recipe/state", strongest, dialects()[dialect])}


def sent(form: SchemaForm) -> dict[str, Any]:
    assert form.response_format
    return dict(form.response_format["json_schema"]["schema"])


def test_the_first_form_is_the_strongest_and_the_last_asks_for_nothing() -> None:
    first, *_, last = forms(DECISION, "unknown").values()
    assert first.response_format
    assert first.response_format["json_schema"]["strict"] is True
    assert "anyOf" in sent(first)
    assert last.response_format is None


def test_where_the_root_must_be_an_object_a_union_is_the_only_field_of_one() -> None:
    first = next(iter(forms(DECISION, "openai").values()))
    assert list(sent(first)["properties"]) == ["answer"]
    assert first.read('{ "answer" : {"Use Python": "y", "Description": "}}"} }') == (
        '{"Use Python": "y", "Description": "}}"}'
    )


def test_where_a_union_may_not_begin_with_one_key_twice_it_is_one_object_with_fields_that_may_be_null() -> None:
    first = next(iter(forms(DECISION, "azure").values()))
    assert list(sent(first)["properties"]) == ["Use Python", "Description"]
    assert sent(first)["properties"]["Use Python"]["enum"] == ["n", "y"]
    assert first.read('{"Use Python": "n", "Description": null}') == '{"Use Python": "n"}'
    spoken = '{"Use Python": "y", "Description": "say , \\"Description\\": null}"}'
    assert first.read(spoken) == spoken


def test_a_merged_reply_keeps_every_value_of_each_field() -> None:
    first = next(iter(forms(Reply.json_schema(), "azure").values()))
    assert sent(first)["properties"]["Action Based on Evaluation"]["enum"] == [str(code) for code in range(1, 13)]


def test_an_optional_field_is_asked_for_and_may_be_null() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    first = next(iter(forms(json.dumps(schema), "openai").values()))
    assert sent(first)["required"] == ["a", "b"]
    assert first.read('{"a": null, "b": "x"}') == '{"b": "x"}'


@pytest.mark.parametrize("schema", [DECISION, Reply.json_schema(), PlanAnswer.json_schema()])
@pytest.mark.parametrize("dialect", dialects())
def test_every_form_that_is_enforced_keeps_to_the_dialect(schema: str, dialect: str) -> None:
    strict = [form for form in forms(schema, dialect).values() if "json_schema" in (form.response_format or {})]
    assert all(not [*faults(sent(form), dialects()[dialect])] for form in strict)


def test_settings_may_ask_for_any_object_or_for_none() -> None:
    assert [form.response_format for form in forms(DECISION, "unknown", "json_object").values()] == [
        {"type": "json_object"},
        None,
    ]
    assert [form.response_format for form in forms(DECISION, "unknown", "none").values()] == [None]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_nested_answer_that_is_streamed_reaches_its_reader_without_the_field_around_it(size: int) -> None:
    text = '{"answer": {"Thoughts": "a {b} c", "Said": {"x": "}} "}}}'
    heard: list[str] = []
    receive = SchemaForm(name="", nested=True).receiver(heard.append)
    for start in range(0, len(text), size):
        receive(text[start : start + size])
    assert "".join(heard) == '{"Thoughts": "a {b} c", "Said": {"x": "}} "}}'


@each_case
def test_the_address_and_the_model_tell_the_dialect(url: str, model: str, name: str) -> None:
    assert dialect_of("", url, model).name == name
    assert dialect_of("vllm", url, model).name == "vllm"


SECRET = "sk-very-secret"


def endpoint(**settings: Any) -> Endpoint:
    return Endpoint(engine="openai", base_url="http://127.0.0.1:1/v1", **settings)


def test_it_is_in_the_usual_variable_or_in_the_one_named_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n", "utf-8")
    assert key_of(endpoint(), "e", {"OPENAI_API_KEY": SECRET}).secret == SECRET
    assert key_of(endpoint(key_variable="MINE"), "e", {"MINE": SECRET, "OPENAI_API_KEY": "x"}).secret == SECRET
    assert key_of(endpoint(key_file=file), "e", {"OPENAI_API_KEY": "x"}).secret == SECRET


def test_an_endpoint_without_a_key_is_asked_without_one() -> None:
    assert key_of(endpoint(), "e", {}).secret == ""


def test_a_key_that_is_not_where_it_should_be_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for settings in ({"key_variable": "MINE"}, {"key_file": tmp_path / "absent"}, {"key_file": tmp_path / "empty"}):
        with pytest.raises(Failure, match=r"hosted: .*(MINE|absent|empty)"):
            key_of(endpoint(**settings), "hosted", {})


@pytest.mark.parametrize("secret", ["two words", "a\nb", "schlüssel"])
def test_what_is_no_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(Failure) as refused:
        key_of(endpoint(), "e", {"OPENAI_API_KEY": secret})
    assert secret not in str(refused.value)


def test_it_is_in_no_representation_and_taken_out_of_what_an_endpoint_says() -> None:
    key = key_of(endpoint(), "e", {"OPENAI_API_KEY": SECRET})
    assert SECRET not in f"{key} {key!r}"
    assert key.without(f"Incorrect API key: {SECRET}!".encode()) == b"Incorrect API key: [key]!"


@pytest.mark.parametrize("placeholder", ["x", "none", "EMPTY", "ollama"])
def test_a_placeholder_for_a_key_changes_no_word_of_an_answer(placeholder: str) -> None:
    answer = f"Take the {placeholder} from both sides."
    assert Key(placeholder, "OPENAI_API_KEY").without(answer.encode()) == answer.encode()
