"""Which answers of a model are accepted, and which are asked for again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.answers import MAX_ANSWER_CHARACTERS, Unreadable, read_object

OBJECT = {"Use Python": "y", "Description": "the student's force, 500 N"}
STRICT = json.dumps(OBJECT)


def test_strict_json_is_read_as_strict() -> None:
    assert read_object(STRICT) == (OBJECT, True)


@pytest.mark.parametrize(
    "text",
    [
        repr(OBJECT),
        f"```json\n{STRICT}\n```",
        f"Here is my decision:\n{STRICT}\nI hope it helps.",
        STRICT[:-1],
        STRICT[:-1] + ",}",
        STRICT[:-1] + ",",
        STRICT[:-1] + "\n```",
        STRICT.replace("500 N", "500\nN"),
    ],
    ids=["literal", "fenced", "prose", "no brace", "comma", "comma, no brace", "fence, no brace", "line break"],
)
def test_slips_of_punctuation_are_mended(text: str) -> None:
    data, strict = read_object(text)
    assert not strict
    assert {key: value.replace("\n", " ") for key, value in data.items()} == OBJECT


def test_missing_braces_are_closed_at_every_depth() -> None:
    assert read_object('{"Python": {"Python Code": "x = 1", "Result Variable": "x"')[0] == {
        "Python": {"Python Code": "x = 1", "Result Variable": "x"}
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I am sorry, but I cannot help with that.", "holds no JSON object"),
        ("", "holds no JSON object"),
        (STRICT[:-10], "stops in the middle of a text"),
        ("{]", "not valid JSON"),
        ("{" * 5000, "not valid JSON"),
        ('{"a": ' + "1" * MAX_ANSWER_CHARACTERS + "}", "characters long"),
    ],
)
def test_what_lacks_content_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_object(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), _VALUES, min_size=1))
def test_any_object_survives_json_and_python_notation(data: dict[str, object]) -> None:
    assert read_object(json.dumps(data)) == (data, True)
    assert read_object(f"answer: {data!r}")[0] == data


@given(st.text())
def test_garbage_is_read_or_refused_and_never_anything_else(text: str) -> None:
    try:
        data, _ = read_object("{" + text)
    except Unreadable:
        return
    assert isinstance(data, dict)
