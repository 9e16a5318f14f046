"""How the answers of a model are read, which are asked for again, and which part of one shows while it is written."""

import json
from itertools import pairwise, permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import MAX_ANSWER_CHARACTERS, Answer, Unreadable, partial_field
from soliloquy.runtime.code import names, unfenced
from soliloquy.runtime.model_answer import words_of
from soliloquy.runtime.thoughts import parts_of
from soliloquy.runtime.tolerant_json import Truncated, objects_in
from soliloquy.v1.model_pb2 import Completion
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


SECRET = "The answer is 42, and I do not say so."
SAID = 'Look at "F = m·a" once more:\n\\frac is no word, “quotes” are.\tWhat is m? 🙂'
FIELDS = {"Thoughts": SECRET, "Action": 3, "Sure": True, "Said": SAID, "Step": "2"}


def written(order: tuple[str, ...], *, ascii_only: bool, indent: int | None) -> str:
    return json.dumps({name: FIELDS[name] for name in order}, ensure_ascii=ascii_only, indent=indent)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
def test_wherever_an_answer_stops_only_the_field_that_is_for_the_student_shows(
    ascii_only: bool, indent: int | None
) -> None:
    for order in list(permutations(FIELDS))[::7]:
        raw = written(order, ascii_only=ascii_only, indent=indent)
        shown = [partial_field(raw[:end], "Said") for end in range(len(raw) + 1)]
        assert shown[-1] == SAID
        assert all(later.startswith(earlier) for earlier, later in pairwise(shown))


@each_case
def test_what_can_only_be_read_whole_shows_nothing(raw: str) -> None:
    assert partial_field(raw, "Said") == ""


def test_a_line_break_that_the_model_did_not_escape_shows_as_one() -> None:
    assert partial_field('{\n"Thoughts": "a\nb",\n"Said": "Well\n\tdo', "Said") == "Well\n\tdo"


def test_what_stands_around_the_object_is_passed_over() -> None:
    assert partial_field('Here it is:\n```json\n{"Said": "Well do', "Said") == "Well do"


def test_a_speaker_in_front_of_a_reply_is_no_part_of_it() -> None:
    assert Reply.text_so_far('{"Thoughts of Tutorbot": "x", "Tutorbot Response": "Tutor: Well done') == "Well done"


def test_of_an_answer_in_parts_only_the_reply_shows() -> None:
    raw = f"[Analysis and Decision] {SECRET}\n[Learner State] Correct\n[Reply] Right. And now?"
    shown = {Tutored.reply_so_far(raw[:end]).strip() for end in range(len(raw) + 1)}
    assert all("Right. And now?".startswith(one) for one in shown)
    assert "Right. And now?" in shown


@each_case
def test_words_and_thoughts_are_told_apart(text: str, words: str, thoughts: str) -> None:
    assert parts_of(text) == (words, thoughts)


@pytest.mark.parametrize("text", ["<think>2 + 2", "<|channel|>analysis<|message|>2 + 2", "<think>a</think><think>b"])
def test_a_model_that_never_stops_thinking_has_said_nothing(text: str) -> None:
    words, thoughts = parts_of(text)
    assert words == ""
    assert thoughts


@each_case
def test_code_is_freed_from_every_kind_of_fence(fenced: str) -> None:
    assert unfenced(fenced) == "x = 1"


def test_code_without_a_fence_keeps_its_lines() -> None:
    code = "import math\n\ndef f():\n    return '`'  # not a fence: `x`, ```y```\n\nx = f()"
    assert unfenced(code) == code


@pytest.mark.parametrize("listed", ["a, b", "a b", "['a', 'b']", "`a`, `b`", "a; b", "(a, b)", "a,\nb,"])
def test_names_come_one_by_one_however_they_are_listed(listed: str) -> None:
    assert names(listed) == ["a", "b"]


def test_a_mark_of_a_thought_inside_of_a_json_answer_is_part_of_the_answer() -> None:
    answer = '{"Description": "Explain what </think> means."}'
    assert words_of(Completion(text=answer, reasoning="A mark.")) == (answer, "A mark.")
