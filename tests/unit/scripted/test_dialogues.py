import asyncio
import math
import re
from functools import cache

from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_services.model.engines.scripted import ScriptedEngine
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
COUNT = 30
_NUMBER = re.compile(r"(?<![\w^.])\d+(?:\.\d+)?")


@cache
def dialogues(wrong: float = 0.1) -> list[Dialogue]:
    async def play() -> list[Dialogue]:
        engine = ScriptedEngine(Shelf())
        played = [
            Dialogue(engine, problem, number, wrong=wrong) for number in range(COUNT) for problem in (CART, STONE_FALL)
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


def test_no_value_is_told_before_it_is_asked_for() -> None:
    for problem, turn in everything():
        done = turn.action in SOLVING or turn.evaluation == "b"
        hidden = [step.result.value for step in problem.steps[turn.step - 1 + done :] if step.HasField("result")]
        assert not any(holds(turn.text, value) for value in hidden), turn.text


def test_the_tutor_steps_in_at_the_third_wrong_answer_and_not_before() -> None:
    judged = [turn for _, turn in turns(0.6) if turn.evaluation == "a"]
    assert all((turn.action == "2") == (turn.wrong_before == 2) for turn in judged)
    assert max(turn.wrong_before for turn in judged) == 2


def test_a_student_meant_to_be_wrong_is_wrong() -> None:
    wrong = [turn for _, turn in everything() if turn.intent == "wrong"]
    assert {turn.evaluation for turn in wrong} == {"a"}
    assert len(wrong) > 200


def test_a_student_meant_to_be_right_is_never_judged_wrong() -> None:
    assert not any(turn.evaluation == "a" for _, turn in everything() if turn.intent != "wrong")


def test_python_is_used_for_numbers_to_verify_or_to_tell_and_for_nothing_else() -> None:
    for problem, turn in everything():
        if turn.intent == "reason":
            assert turn.decision["Use Python"] == "n"
            continue
        tells = turn.action in SOLVING
        needed = is_numeric(problem, turn) and (turn.evaluation in "ab" or tells)
        assert (turn.decision["Use Python"] == "y") == needed, turn
        assert ("is_correct" in turn.output) == (needed and turn.action in {"1", "2", "3"})


async def test_the_same_seeds_play_the_same_dialogue_and_others_another() -> None:
    engine = ScriptedEngine(Shelf())
    first, again, other = [await Dialogue(engine, CART, seed).play() for seed in (7, 7, 8)]
    assert first == again
    assert first != other
