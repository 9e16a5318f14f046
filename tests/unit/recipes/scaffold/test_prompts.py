"""The examples in the prompts are what a role is asked for."""

import json
import re

import pytest

from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.answers import PlanAnswer, PlanVerdict, Tutored
from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, Plan, SubQuestion
from soliloquy.recipes.scaffold.memory import next_turn, store_solved
from soliloquy.recipes.scaffold.plan_rules import faults
from soliloquy.recipes.scaffold.reply_rules import reply_faults
from soliloquy.recipes.scaffold.states import CORRECT, INCORRECT, STATES
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem, Quantity, Step, Turn

_OWN = prompting.TEMPLATES.own
_TABLE = _OWN.table("states")
_SHOWN = [state for state, row in _TABLE.items() if row["said"]]
_QUESTION = "Ada reads 12 pages a day. How many pages of her book of 100 pages are left after a week?"
_PLAN = Plan(
    questions=[
        SubQuestion(question="How many pages does Ada read in a week?", answer="84 pages", steps=[1]),
        SubQuestion(question="How many pages are left?", answer="16 pages", steps=[2]),
    ]
)
_ASKED = re.compile(r'^"(?P<question>.*?)"(?:, expected (?P<answer>.*?))?: (?P<message>.*)$', re.MULTILINE)


def conversation(message: str, solved: list[bool]) -> tuple[Conversation, Turn]:
    labels = EnrichmentLabels(plan=_PLAN).SerializeToString()
    problem = Problem(question=_QUESTION, answer=Quantity(value=16), enrichment=Enrichment(labels=labels))
    made = Conversation(problem=problem, turns=[Turn(number=1)])
    store_solved(made.turns[0], solved)
    turn = next_turn(made)
    turn.student.text = message
    return made, turn


@pytest.mark.parametrize("state", STATES)
def test_the_tutors_example_of_a_state_has_the_form_that_is_demanded_and_breaks_no_rule(state: str) -> None:
    first, _, answer = _TABLE[state]["turn"].strip().partition("\n")
    example, _ = Tutored.read(answer)
    made, turn = conversation(first.removeprefix("Message: "), [state == "end", False])
    assert example.state == state
    assert not list(reply_faults(example.text, example.analysis, STATES[state], made, turn))


@pytest.mark.parametrize("state", _SHOWN)
def test_the_pupils_examples_show_the_state_that_they_are_examples_of(state: str) -> None:
    examples = list(_ASKED.finditer(_TABLE[state]["said"]))
    assert len(examples) == len(_TABLE[state]["said"].splitlines())
    if STATES[state] not in (CORRECT, INCORRECT):
        assert not any(re.search(r"\d", one["message"]) for one in examples)
        return
    for one in examples:
        target = SubQuestion(question=one["question"], answer=one["answer"])
        given = gives_expected(one["message"], target)
        assert given is None or given == (STATES[state] == CORRECT), one["message"]
    assert any(gives_expected(one["message"], SubQuestion(answer=one["answer"])) is not None for one in examples)


def test_the_planners_example_is_a_plan_that_breaks_no_rule() -> None:
    found = re.search(r"An example.*?(\{.*\})\s*\[user\]", _OWN.text("planning"), re.DOTALL)
    assert found
    plan = PlanAnswer.model_validate(json.loads(found[1])).plan
    steps = [
        Step(number=1, explanation="All trays together hold 6 * 8 = 48 rolls.", result=Quantity(value=48)),
        Step(number=2, explanation="48 - 35 = 13 rolls are left.", result=Quantity(value=13)),
    ]
    question = "A baker fills 6 trays with 8 rolls each and sells 35 of the rolls. How many are left?"
    assert not list(faults(plan, Problem(question=question, steps=steps, answer=Quantity(value=13))))


def test_the_verifiers_examples_are_a_yes_and_a_no() -> None:
    examples = re.findall(r'^\{"Worked": .*"Reason": "\w.*\}$', _OWN.text("verifying"), re.MULTILINE)
    assert [PlanVerdict.model_validate(json.loads(one)).decision for one in examples] == ["accept", "reject"]
