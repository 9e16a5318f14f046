import asyncio
import math
import re
from collections import Counter
from functools import cache

import pytest

from services.model.engines.scripted import ScriptedEngine
from soliloquy.v1.conversation_pb2 import Problem
from tests.unit.scripted.driver import Dialogue, Turn
from tests.unit.scripted.problems import CART, STONE_FALL, Shelf

ACTIONS = {
    "a": {"1", "2"},
    "b": {"3"},
    "c": {"4", "5"},
    "d": {"6"},
    "e": {"7"},
    "f": {"8", "9", "10", "11"},
    "g": {"12"},
}
SOLVING = {"2", "5", "9"}
# All but 5: half an answer after two wrong ones is too rare to count on here.
COMMON = [str(number) for number in range(1, 13) if number != 5]
PROBLEMS = (CART, STONE_FALL)
_NUMBER = re.compile(r"(?<![\w^.])\d+(?:\.\d+)?")


@cache
def dialogues(wrong: float = 0.1, rules: str = "", count: int = 75) -> list[Dialogue]:
    async def play() -> list[Dialogue]:
        engine = ScriptedEngine(Shelf())
        played = [
            Dialogue(engine, problem, number, wrong=wrong, rules=rules)
            for number in range(count)
            for problem in PROBLEMS
        ]
        for dialogue in played:
            await dialogue.play(turns=20 if wrong <= 0.3 else 60)
        return played

    return asyncio.run(play())


def turns(wrong: float = 0.1) -> list[tuple[Problem, Turn]]:
    return [(dialogue.problem, turn) for dialogue in dialogues(wrong) for turn in dialogue.turns]


def everything() -> list[tuple[Problem, Turn]]:
    return turns(0.1) + turns(0.6)


def numbers(text: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(text)]


def holds(text: str, value: float) -> bool:
    return any(math.isclose(number, value, rel_tol=0.01) for number in numbers(text))


def is_numeric(problem: Problem, turn: Turn) -> bool:
    return problem.steps[turn.step - 1].HasField("result")


def test_every_dialogue_is_solved_within_twenty_turns() -> None:
    assert {dialogue.turns[-1].state for dialogue in dialogues()} == {"t"}


def test_a_dialogue_that_goes_wrong_most_of_the_time_ends_all_the_same() -> None:
    assert {dialogue.turns[-1].state for dialogue in dialogues(0.6)} == {"t"}


def test_every_evaluation_and_nearly_every_action_occurs() -> None:
    seen = {(turn.evaluation, turn.action) for _, turn in everything()}
    assert {evaluation for evaluation, _ in seen} == set("abcdefg")
    assert {action for _, action in seen} >= set(COMMON)


def test_actions_go_with_their_evaluation() -> None:
    assert all(turn.action in ACTIONS[turn.evaluation] for _, turn in everything())


def test_the_first_reply_welcomes_and_asks_for_the_first_step() -> None:
    for dialogue in dialogues():
        first = dialogue.turns[0]
        assert (first.evaluation, first.action) in {("f", "8"), ("g", "12")}
        assert (first.state, first.reply["Step Number"]) == ("q", "1")
        assert first.decision == {"Use Python": "n"}


def test_a_planned_question_is_seldom_put_word_for_word() -> None:
    held = [any(step.ask in turn.text for step in problem.steps) for problem, turn in everything()]
    assert sum(held) <= 0.25 * len(held)


def test_the_farewell_asks_nothing() -> None:
    assert not any("?" in turn.text for _, turn in everything() if turn.state == "t")


def test_the_step_number_is_the_one_worked_on_except_when_going_back() -> None:
    for _, turn in everything():
        assert int(turn.reply["Step Number"]) == turn.step - (turn.action == "10")
        assert turn.step > 1 or turn.action != "10"


def test_no_value_is_told_before_it_is_asked_for() -> None:
    for problem, turn in everything():
        done = turn.action in SOLVING or turn.evaluation == "b"
        hidden = [step.result.value for step in problem.steps[turn.step - 1 + done :] if step.HasField("result")]
        assert not any(holds(turn.text, value) for value in hidden), turn.text


def test_right_answers_are_taken_up_and_some_are_asked_for_their_reason() -> None:
    right = [(problem, turn) for problem, turn in everything() if turn.action == "3" and is_numeric(problem, turn)]
    taken_up = [holds(turn.text, problem.steps[turn.step - 1].result.value) for problem, turn in right]
    assert 0.2 < sum(taken_up) / len(taken_up) < 0.8
    asked = [turn.asks_why for _, turn in right]
    assert 0.05 < sum(asked) / len(asked) < 0.25


def test_the_solution_of_a_step_is_told_when_it_is_asked_for_or_missed_three_times() -> None:
    answered = [(problem, turn) for problem, turn in everything() if turn.intent != "reason"]
    solved = [(problem, turn) for problem, turn in answered if turn.action in SOLVING]
    for problem, turn in solved:
        assert turn.action == "9" or turn.wrong_before >= 2
        if is_numeric(problem, turn):
            assert holds(turn.text, problem.steps[turn.step - 1].result.value)
    assert {turn.action for _, turn in solved} >= {"2", "9"}


def test_the_tutor_steps_in_at_the_third_wrong_answer_and_not_before() -> None:
    judged = [turn for _, turn in turns(0.6) if turn.evaluation == "a"]
    assert all((turn.action == "2") == (turn.wrong_before == 2) for turn in judged)
    assert max(turn.wrong_before for turn in judged) == 2


def test_a_student_meant_to_be_wrong_is_wrong() -> None:
    wrong = [turn for _, turn in everything() if turn.intent == "wrong"]
    assert {turn.evaluation for turn in wrong} == {"a"}
    assert len(wrong) > 500


def test_a_student_meant_to_be_right_is_never_judged_wrong() -> None:
    assert not any(turn.evaluation == "a" for _, turn in everything() if turn.intent != "wrong")


def test_a_right_number_is_within_half_a_percent() -> None:
    for problem, turn in everything():
        if turn.intent == "right" and turn.evaluation == "b" and is_numeric(problem, turn):
            value = problem.steps[turn.step - 1].result.value
            assert any(math.isclose(number, value, rel_tol=0.005) for number in numbers(turn.student))


def test_plain_answers_are_the_rule_and_other_behaviour_occurs() -> None:
    first_tries = [
        turn
        for dialogue in dialogues()
        for before, turn in zip(dialogue.turns, dialogue.turns[1:], strict=False)
        if turn.intent == "right" and turn.step != before.step
    ]
    shares = Counter(turn.evaluation for turn in first_tries)
    assert 0.72 < shares["b"] / len(first_tries) < 0.86
    assert {"c", "d", "e", "f"} <= set(shares)


def test_python_is_used_for_numbers_to_verify_or_to_tell_and_for_nothing_else() -> None:
    for problem, turn in everything():
        if turn.intent == "reason":
            assert turn.decision["Use Python"] == "n"
            continue
        tells = turn.action in SOLVING
        needed = is_numeric(problem, turn) and (turn.evaluation in "ab" or tells)
        assert (turn.decision["Use Python"] == "y") == needed, turn
        assert ("is_correct" in turn.output) == (needed and turn.action in {"1", "2", "3"})


@pytest.mark.parametrize("action", COMMON)
def test_no_situation_is_answered_with_a_single_phrase(action: str) -> None:
    texts = {turn.text for _, turn in everything() if turn.action == action}
    assert len(texts) >= 5


def test_no_two_dialogues_of_a_problem_are_alike() -> None:
    transcripts = Counter(
        (dialogue.problem.id, *(f"{turn.student}\n{turn.text}" for turn in dialogue.turns)) for dialogue in dialogues()
    )
    assert max(transcripts.values()) == 1


def test_a_word_limit_in_the_prompt_shortens_the_replies() -> None:
    limited = dialogues(0.3, "Keep each reply under 16 words.\n", 40)
    free = dialogues(0.3, "", 40)
    assert _longest(limited) < 16 <= _longest(free)
    assert {dialogue.turns[-1].state for dialogue in limited} == {"t"}


def _longest(played: list[Dialogue]) -> int:
    """The longest reply that only has to lead on, in words."""
    return max(
        len(turn.text.split())
        for dialogue in played
        for turn in dialogue.turns
        if turn.action in {"3", "7", "12"} and dialogue.problem is CART
    )


async def test_the_same_seeds_play_the_same_dialogue_and_others_another() -> None:
    engine = ScriptedEngine(Shelf())
    first, again, other = [await Dialogue(engine, CART, seed).play() for seed in (7, 7, 8)]
    assert first == again
    assert first != other
