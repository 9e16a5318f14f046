"""A schema in the forms that endpoints take, and answers read back from them."""

import json
from typing import Any

import pytest

from soliloquy.recipes.answers import Decision
from soliloquy.recipes.scaffold.answers import PlanAnswer
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.model.dialects import dialect_of, dialects
from soliloquy.runtime.model.schema_shapes import faults
from soliloquy.runtime.model.schemas import SchemaForm, forms_of
from tests.cases import each_case

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
