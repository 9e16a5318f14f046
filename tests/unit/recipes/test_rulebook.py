"""A table of rules that contradicts itself is refused in one line, before anything runs."""

from dataclasses import asdict
from typing import Any

import pytest

from deploy import rules_table
from soliloquy.recipes.recipe import find
from soliloquy.recipes.rulebook import BadRules, rulebook
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem
from tests.unit.recipes.conversations import conversation, sound_turns

RULE = {"says": "the same words again", "of": "turn", "by": ["student"], "rests_on": "fact", "does": "condemn"}
TRIES = {"student": 5, "tutor": 2, "codegen": 2, "composer": 3}
MENDING = {"tries": TRIES, "rewinds": 2}


@pytest.mark.parametrize(
    ("rule", "mending", "why"),
    [
        (RULE | {"says": ""}, MENDING, "rules.repeated.says: String should match pattern"),
        (RULE | {"says": " "}, MENDING, "rules.repeated.says: String should match pattern"),
        (RULE | {"of": "dialogue"}, MENDING, "rules.repeated.of: Input should be 'turn', 'pair' or 'conversation'"),
        (RULE | {"by": []}, MENDING, "it is of a turn and asked of nobody"),
        (RULE | {"by": ["planner"]}, MENDING, "rules.repeated.by.0: Input should be 'student', 'tutor', 'codegen' or"),
        (RULE | {"by": ["codegen"]}, MENDING, "it is asked of programs, which show nothing before they have run"),
        (RULE | {"of": "conversation"}, MENDING, "it is of a conversation and asked of the student's answers"),
        (RULE | {"of": "conversation", "by": [], "does": "ask"}, MENDING, "use condemn or mark"),
        (RULE | {"does": "mark", "state": "choosing"}, MENDING, "it only marks, and names the state 'choosing'"),
        (RULE | {"does": "mark", "on_read_plan": "ask"}, MENDING, "it is to ask, which is no less than mark"),
        (RULE | {"on_read_plan": "condemn"}, MENDING, "rules.repeated.on_read_plan: Input should be 'ask' or 'mark'"),
        (
            RULE | {"of": "conversation", "by": [], "on_read_plan": "ask"},
            MENDING,
            'use on_read_plan = "mark"',
        ),
        (RULE | {"weight": 1}, MENDING, "rules.repeated.weight: "),
        (RULE, MENDING | {"tries": 2}, "mending.tries: Input should be a dictionary"),
        (RULE, MENDING | {"tries": TRIES | {"tutor": 0}}, "mending.tries.tutor: Input should be greater than or equal"),
        (RULE, MENDING | {"tries": {"student": 5}}, "mending.tries.tutor: Field required"),
        (RULE, MENDING | {"rewinds": 0}, "mending.rewinds: Input should be greater than or equal to 1, not 0"),
        (RULE, {}, "mending.tries: Field required"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(rule: dict[str, Any], mending: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRules) as refused:
        rulebook({"rules": {"repeated": rule}, "mending": mending}, "rules.toml", ["repeated"])
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"longest_tutor_words": 0}, "rules.toml: longest_tutor_words: must be more than 0, not 0"),
        ({"talk": {"same_words": -0.5}}, "rules.toml: same_words: must be more than 0, not -0.5"),
        (
            {"talk": {"shortest_turns": 9, "most_turns": 8}},
            "rules.toml: shortest_turns is 9, and most_turns is 8: nothing satisfies both",
        ),
    ],
)
def test_limits_that_nothing_satisfies_are_refused(limits: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRules) as refused:
        rulebook({**limits, "rules": {"repeated": RULE}, "mending": MENDING}, "rules.toml", ["repeated"])
    assert str(refused.value) == why


def test_a_rule_without_code_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadRules, match="there is no rule 'repeatd': did you mean repeated"):
        rulebook({"rules": {"repeatd": RULE}, "mending": MENDING}, "rules.toml", ["repeated"])
    with pytest.raises(BadRules, match="needs: there is no rule 'length'"):
        rulebook(
            {"rules": {"repeated": RULE}, "needs": {"length": "run"}, "mending": MENDING}, "rules.toml", ["repeated"]
        )


def test_the_table_in_the_readme_is_that_of_the_rules() -> None:
    assert rules_table.PAGE.read_text("utf-8") == rules_table.page()


@pytest.mark.parametrize("name", ["mathdial", "scaffold", "soliloquy"])
def test_rules_of_a_turn_are_asked_of_somebody_or_mark_and_those_of_a_program_of_its_author_or_the_student(
    name: str,
) -> None:
    rules = find(name).rules
    assert rules
    asked = {rule for role in ("student", "tutor", "codegen", "composer") for rule in rules.book.asked_of(role)}
    marking = {name for name, rule in rules.book.rules.items() if rule.does == "mark"}
    assert asked | marking | set(rules.book.of_conversations()) == set(rules.book.rules)
    assert all({*rule.by} & {"student", "codegen"} for rule in rules.book.rules.values() if rule.reads_programs)


def test_a_conversation_is_counted_as_other_rules_would_have_it() -> None:
    rules = find("soliloquy").rules
    assert rules
    made = conversation(*sound_turns())
    made.turns[1].tutor.text = " ".join(["Right!"] * 200)
    own = {name: asdict(rule) for name, rule in rules.book.rules.items()}
    assert [fault.partition(":")[0] for fault in rules.check_by(made, rules.book).faults] == ["length"]
    milder = rules.book.under(own | {"length": own["length"] | {"does": "mark"}}, "as_if.toml", own)
    checked = rules.check_by(made, milder)
    assert (checked.faults, [mark.partition(":")[0] for mark in checked.marks]) == ([], ["length"])
    without = rules.book.under({name: one for name, one in own.items() if name != "length"}, "as_if.toml", own)
    assert (rules.check_by(made, without).faults, rules.check_by(made, without).marks) == ([], [])


def test_a_rule_does_less_on_a_plan_that_was_read_from_prose() -> None:
    made = rulebook({"rules": {"repeated": RULE | {"on_read_plan": "mark"}}, "mending": MENDING}, "here", ["repeated"])
    stated, read = made.on_plan(Problem()), made.on_plan(Problem(plan=PLAN_SOURCE_PROSE))
    assert (stated.condemns("repeated"), stated.asked_of("student")) == (True, ["repeated"])
    assert (read.condemns("repeated"), read.asked_of("student")) == (False, [])
