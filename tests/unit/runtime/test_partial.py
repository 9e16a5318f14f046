"""The visible part of an unfinished answer."""

import json
from itertools import pairwise, permutations

import pytest

from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import partial_field
from tests.cases import each_case

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
