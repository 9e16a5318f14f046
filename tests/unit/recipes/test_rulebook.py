"""A table of rules that contradicts itself is refused in one line, before anything runs."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from deploy import rules_table
from soliloquy.recipes.recipe import find
from soliloquy.recipes.rulebook import BadRules, rulebook
from soliloquy.recipes.rules import Broken, parted
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem
from tests.cases import each_case
from tests.unit.recipes.conversations import conversation, sound_turns

RULE = {"says": "the same words again", "of": "turn", "by": ["student"], "rests_on": "fact", "does": "condemn"}
TRIES = {"student": 5, "tutor": 2, "codegen": 2, "composer": 3}
MENDING = {"tries": TRIES, "rewinds": 2}


@each_case
def test_what_is_wrong_is_named_with_its_place(
    rule: dict[str, Any] | None, mending: dict[str, Any] | None, why: str
) -> None:
    told = {"rules": {"repeated": RULE | (rule or {})}, "mending": MENDING | (mending or {})}
    with pytest.raises(BadRules) as refused:
        rulebook(told, "rules.toml", ["repeated"])
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@each_case
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


def test_rules_that_do_not_condemn_are_asked_only_when_their_findings_are_read() -> None:
    rules = find("soliloquy").rules
    assert rules
    asked: list[str] = []

    def broken(names: Collection[str]) -> Sequence[Broken]:
        asked.extend(names)
        return ()

    _, find_marks = parted(broken, rules.book)
    assert {*asked} == {name for name in rules.book.rules if rules.book.condemns(name)}
    find_marks()
    assert sorted(asked) == sorted(rules.book.rules)


def test_a_rule_does_less_on_a_plan_that_was_read_from_prose() -> None:
    made = rulebook(
        {"rules": {"repeated": RULE | {"on_read_plan": "nothing"}}, "mending": MENDING}, "here", ["repeated"]
    )
    stated, read = made.on_plan(Problem()), made.on_plan(Problem(plan=PLAN_SOURCE_PROSE))
    assert (stated.condemns("repeated"), stated.asked_of("student")) == (True, ["repeated"])
    assert (read.rules, read.asked_of("student")) == ({}, [])
