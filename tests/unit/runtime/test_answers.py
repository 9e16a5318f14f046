"""Which answers of a model are accepted, and which are asked for again."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from soliloquy.runtime.answers import MAX_ANSWER_CHARACTERS, Answer, Unreadable
from soliloquy.runtime.tolerant_json import Truncated, objects_in
from tests.cases import each_case


class Decision(Answer):
    use_python: str = Field(alias="Use Python")
    description: str = Field(alias="Description")


OBJECT = {"Use Python": "y", "Description": "the student's force, 500 N"}
DRAFT = {"Use Python": "n", "Description": "nothing"}
STRICT = json.dumps(OBJECT)


def read(text: str) -> dict[str, str]:
    answer, strict = Decision.read(text)
    assert not strict
    return answer.model_dump(by_alias=True)


def test_strict_json_is_read_as_strict() -> None:
    answer, strict = Decision.read(STRICT)
    assert (answer.model_dump(by_alias=True), strict) == (OBJECT, True)


@each_case
def test_an_answer_in_another_dress_is_read(text: str) -> None:
    assert read(text) == OBJECT


@each_case
@pytest.mark.parametrize("quote", ['"', '"""'])
def test_words_are_kept_as_they_were_meant(quote: str, written: str, meant: str) -> None:
    text = f'{{"Use Python": "y", "Description": {quote}{written}{quote}}}'
    assert Decision.read(text)[0].description == meant


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I am sorry, but I cannot help with that.", "holds no JSON object"),
        ("", "holds no JSON object"),
        (STRICT[:-10], "stops in the middle of a text"),
        (f"{json.dumps(DRAFT)} No: {STRICT[:-10]}", "stops in the middle of a text"),
        ("{]", "not valid JSON"),
        ("{" * 5000, "not valid JSON"),
        ('{"a": ' + "1" * MAX_ANSWER_CHARACTERS + "}", "characters long"),
        (json.dumps({"one": OBJECT, "other": DRAFT}), "Field required"),
        ("Use Python: y\nUse Python: n\nDescription: both", "holds no JSON object"),
    ],
)
def test_what_lacks_content_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        Decision.read(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), _VALUES, min_size=1))
@example({"0": '"'})
def test_any_object_survives_json_and_python_notation(data: dict[str, object]) -> None:
    assert list(objects_in(json.dumps(data))) == [data]
    assert list(objects_in(f"answer: {data!r}")) == [data]


@given(st.text())
def test_garbage_is_read_or_refused_and_never_anything_else(text: str) -> None:
    assert all(isinstance(found, (dict, Truncated)) for found in objects_in("{" + text))
