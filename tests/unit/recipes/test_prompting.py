"""Prompts are complete, tell the student no more than it knows, and can be edited without breaking a run."""

import re
from pathlib import Path

import pytest

from soliloquy.recipes.codegen import program_prompt
from soliloquy.recipes.prompts import BrokenPrompt
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.recipe import RECIPE
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_MODEL, Conversation, Enrichment, Intent, StudentReply
from soliloquy.v1.sandbox_pb2 import Status
from tests.cases import each_case
from tests.unit.recipes.conversations import (
    calculated,
    conversation,
    enriched_conversation,
    sound_conversation,
    turn,
)


def text(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


def test_a_student_that_is_to_be_right_is_told_the_step_at_hand_and_no_more_of_the_solution() -> None:
    made = sound_conversation()
    given = text(prompting.student(made, made.turns[:1], StudentReply(intent=Intent.INTENT_RIGHT)))
    assert "F = m a = 3600 N" in given
    assert "W = F s" not in given
    assert "F = m a" not in text(prompting.student(made, made.turns[:1], StudentReply(intent=Intent.INTENT_WRONG)))


def test_a_right_answer_is_asked_for_its_reason_as_often_as_the_table_says() -> None:
    made = sound_conversation()
    share = prompting.TEMPLATES.own.table("asking")["why"]
    asked = 0
    for ordinal in range(400):
        made.id = str(ordinal)
        asked += "ask why it is so" in text(prompting.composing(made))
    assert share / 2 < asked / 400 < share * 2
    made.person = True
    assert "ask why it is so" not in text(prompting.composing(made))


def test_the_student_is_told_who_it_is_and_nobody_else_is() -> None:
    persona, *others = prompting.personas({}).values()
    made = sound_conversation()
    made.persona = next(iter(prompting.personas({})))
    for _, prompt in prompting.conversation_prompts(made):
        assert (persona.manner in text(prompt)) == (prompt.name == "soliloquy/student")
        assert not any(other.manner in text(prompt) for other in others)


def test_the_programmer_sees_the_description_alone() -> None:
    given = text(program_prompt(prompting.TEMPLATES.own, sound_conversation().turns[1].calculation))
    assert "the net force" in given
    assert "1500 kg car" not in given


def test_every_slot_of_every_prompt_is_filled() -> None:
    prompts = prompting.conversation_prompts(sound_conversation())
    assert {prompt.name for _, prompt in prompts} == {
        f"soliloquy/{state}" for state in ("student", "deciding", "use_python", "received_python", "no_python")
    }
    for _, prompt in prompts:
        assert [message.role for message in prompt.messages] == ["system", "user"]
        assert not re.search(r"\$\w", text(prompt))


def test_a_programmer_is_shown_what_failed() -> None:
    calculation = calculated(None)
    calculation.attempts[0].execution.error = "NameError: name 'm' is not defined"
    calculation.attempts[0].execution.error_line = 3
    assert "line 3: NameError: name 'm' is not defined" in text(program_prompt(prompting.TEMPLATES.own, calculation))


def test_wrong_answers_are_counted_for_the_step_at_hand() -> None:
    wrong = turn("1 N", "No. What net force acts?", codes="a1q", step=1, calculation=calculated(False))
    asked = conversation(wrong, wrong, turn("3600 N", "", codes="b3r", step=1))
    asked.turns[-1].ClearField("tutor")
    assert "Step being worked on: 1 of 2\nWrong answers at this step: 2" in text(prompting.composing(asked))


def test_without_a_program_that_ran_no_output_is_shown_and_no_verdict_asked_for() -> None:
    failed = sound_conversation()
    failed.turns[-1].calculation.attempts[-1].execution.status = Status.STATUS_ERROR
    given = prompting.composing(failed)
    assert given.name == "soliloquy/no_python"
    assert "<calculation>failed</calculation>" in text(given)


def test_the_tutor_is_led_by_the_detailed_solution_where_there_is_one() -> None:
    made, plain = enriched_conversation(), sound_conversation()
    given = [prompt for _, prompts in prompting.tutor_prompts(made) for prompt in prompts if "python" in prompt.name]
    replying = [prompt for prompt in given if prompt.name != "soliloquy/use_python"]
    assert {prompt.name for prompt in replying} == {"soliloquy/received_python", "soliloquy/no_python"}
    for prompt in (prompting.deciding(made), *replying):
        assert "By Newton's second law F = 3600 N." in text(prompt)
        assert "Step 1) F = m a" not in text(prompt)
    for prompt in (prompting.deciding(plain), prompting.composing(plain)):
        assert "Step 1) F = m a" in text(prompt)
    asked = text(prompting.student(made, made.turns, StudentReply(intent=Intent.INTENT_RIGHT)))
    assert "Newton" not in asked


def test_a_plan_that_a_model_read_is_shown_behind_the_solution_that_it_read() -> None:
    made = sound_conversation()
    made.problem.plan = PLAN_SOURCE_MODEL
    assert f"<solution>\n{made.problem.solution}\n\nStep 1) F = m a" in text(prompting.deciding(made))


def test_a_problem_that_stayed_plain_leads_by_its_own_steps() -> None:
    made = enriched_conversation()
    made.problem.enrichment.CopyFrom(Enrichment(plain_because="no answer could be used"))
    assert text(prompting.deciding(made)) == text(prompting.deciding(sound_conversation()))


def test_what_the_planner_was_asked_comes_before_the_first_turn() -> None:
    made = enriched_conversation()
    made.problem.enrichment.calls.add(role="planner")
    (turn, asked), (first, _), *_ = prompting.conversation_prompts(made)
    assert (turn, asked.name, first) == (0, "soliloquy/enriching", 1)
    assert made.problem.solution in text(asked)
    assert "exactly 2 steps" in text(asked)
    assert "detailed_solution" not in text(asked)


@pytest.mark.parametrize("made", [sound_conversation(), enriched_conversation()], ids=["plain", "enriched"])
def test_a_record_holds_what_the_prompts_show(made: Conversation) -> None:
    shown = RECIPE.record(made)
    problem, said = shown["problem"], shown["turns"]
    prompts = [text(prompt) for _, prompt in prompting.conversation_prompts(made)]
    enrichment = problem["enrichment"]
    solution = enrichment["detailed_solution"] if enrichment else problem["steps"][0]["explanation"]
    assert problem["question"] in prompts[-1]
    assert solution in prompts[-1]
    assert any(shown["persona"] in prompt for prompt in prompts)
    assert all(one["student"]["text"] in prompts[-1] for one in said)
    assert all(one["tutor"]["text"] in prompts[-1] for one in said[:-1])
    outputs = [one["soliloquy"]["attempts"][-1]["values"] for one in said if one["soliloquy"]["use_python"]]
    shown_values = [f"{name} = {value}" for output in outputs for name, value in output.items()]
    assert shown_values
    assert all(any(value in prompt for prompt in prompts) for value in shown_values)


@pytest.fixture
def edited_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "soliloquy" / "prompts"
    folder.mkdir(parents=True)
    for path in prompting.TEMPLATES.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    templates = Templates(folder, prompting.SLOTS, prompting.TABLES)
    monkeypatch.setattr(prompting, "TEMPLATES", templates)
    return folder


@each_case
def test_a_prompt_that_cannot_be_filled_in_is_refused_by_name(edited_prompts: Path, added: str, reason: str) -> None:
    with (edited_prompts / "control.txt").open("a", encoding="utf-8") as file:
        file.write(added)
    with pytest.raises(BrokenPrompt, match=f"control.txt: .*{reason}"):
        prompting.TEMPLATES.fingerprints({})


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("intents.toml", b'opening = "Hello"', "known is missing"),
        ("intents.toml", b"opening = = 2", r"is not TOML \(.*line 1"),
        ("personas.toml", b"[terse]\nshare = 1", r"terse.manner is missing"),
        ("personas.toml", b"[terse]\nshare = 'all'\nmanner = 'short'", "terse.share: 'all' is not a number"),
        ("personas.toml", b"terse = 1", "terse: 1 is not a table"),
        ("personas.toml", b"[terse]\nshare = 1\nmaner = ''", "terse.manner is missing"),
        ("deciding.txt", "Grüße".encode("latin-1"), r"is not UTF-8 \(byte 2\): save it as UTF-8"),
        ("intents.toml", "opening = 'Grüße'".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_key(
    edited_prompts: Path, file: str, content: bytes, reason: str
) -> None:
    (edited_prompts / file).write_bytes(content)
    with pytest.raises(BrokenPrompt, match=f"prompts/{file}: {reason}"):
        prompting.TEMPLATES.fingerprints({})


def test_braces_of_code_json_and_formulas_are_text(edited_prompts: Path) -> None:
    with (edited_prompts / "control.txt").open("a", encoding="utf-8") as file:
        file.write('\n{"Thoughts": "..", "Step": 1} \\frac{a}{b} { literal } {1: 2} ${}'.replace("${}", "$$x"))
    prompting.TEMPLATES.fingerprints({})
