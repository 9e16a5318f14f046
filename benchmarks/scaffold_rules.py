"""`python -m benchmarks scaffold-rules`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report
from soliloquy.recipes.scaffold.fit import find_misfit
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, Plan, StudentLabels, TurnLabels, TutorLabels
from soliloquy.recipes.scaffold.memory import closing_state, solved_after, store_solved
from soliloquy.recipes.scaffold.reply_rules import REPLY_RULES
from soliloquy.recipes.scaffold.rules import RULES
from soliloquy.recipes.scaffold.states import STATES
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply, Turn, TutorReply

_LABELS = Path(__file__).parent / "labels"
SETS = {"first": _LABELS / "replies.jsonl", "unseen": _LABELS / "replies_unseen.jsonl"}
MESSAGES = _LABELS / "drawn_messages.jsonl"
_OUTCOMES = ("labelled", "right", "faults", "found", "false rejections", "false acceptances")


@click.command()
@click.option("--set", "chosen", type=click.Choice([*SETS]), default="first", show_default=True, help="The labels.")
@LISTED
@AS_JSON
def scaffold_rules(*, chosen: str, listed: bool, as_json: bool) -> None:
    """Compare what scaffold's rules find in labelled replies of our own.

    Each reply answers a student's message at a sub-question of a plan, and is labelled with the rules that it breaks.
    The row `state` counts messages of students, and whether they show the state that was drawn.
    """
    report({**judge(SETS[chosen]), "state": judge_messages()}, _OUTCOMES, listed=listed, as_json=as_json)


def judge(labels: Path) -> Mapping[str, Readings]:
    """Returns by rule what it makes of each reply."""
    kinds = {rule: Readings() for rule in REPLY_RULES}
    for labelled in cases(labels):
        found = {one.rule: one.evidence for one in RULES.broken(conversation_of(labelled), REPLY_RULES, 1)}
        for rule, readings in kinds.items():
            told = f"{labelled['id']}: {rule}: {found.get(rule, 'not found')}: {labelled['reply']!r}"
            readings.add(*_compared(told, is_found=rule in found, is_fault=rule in labelled["faults"]))
    return kinds


def judge_messages() -> Readings:
    """Returns which messages of students are sent back because they do not show the state that was drawn."""
    plans = {labelled["id"].partition("-")[0]: labelled for labelled in cases(SETS["first"])}
    readings = Readings()
    for labelled in cases(MESSAGES):
        made = {**plans[labelled["scene"]], **labelled, "state": labelled["drawn"], "reply": ""}
        conversation = conversation_of(made)
        misfit = find_misfit(conversation, conversation.turns[-1])
        told = f"{labelled['id']}: {labelled['drawn']}: {misfit.because if misfit else 'fits'}: {labelled['message']!r}"
        readings.add(*_compared(told, is_found=misfit is not None, is_fault=not labelled["fits"]))
    return readings


def _compared(told: str, *, is_found: bool, is_fault: bool) -> tuple[list[str], str]:
    outcomes = ["labelled", *(["found"] if is_found else []), *(["faults"] if is_fault else [])]
    if is_found == is_fault:
        return [*outcomes, "right"], ""
    return [*outcomes, "false rejections" if is_found else "false acceptances"], told


def conversation_of(labelled: Mapping[str, Any]) -> Conversation:
    """Returns a conversation that ends with the labelled reply."""
    conversation = Conversation()
    conversation.problem.question = labelled["question"]
    plan = EnrichmentLabels(plan=Plan(questions=labelled["plan"]))
    conversation.problem.enrichment.labels = plan.SerializeToString()
    at, count, state = labelled["at"], len(labelled["plan"]), STATES[labelled["state"]]
    if labelled["state"] != "start":
        before = conversation.turns.add(number=1)
        store_solved(before, [number < at for number in range(1, count + 1)])
    turn = Turn(
        number=len(conversation.turns) + 1,
        labels=TurnLabels(sub_question=at).SerializeToString(),
        student=StudentReply(text=labelled["message"], labels=StudentLabels(learner_state=state).SerializeToString()),
    )
    conversation.turns.append(turn)
    turn = conversation.turns[-1]
    state = closing_state(conversation, turn, state)
    turn.tutor.CopyFrom(
        TutorReply(
            text=labelled["reply"],
            thoughts=labelled["analysis"],
            labels=TutorLabels(learner_state=state).SerializeToString(),
        )
    )
    store_solved(turn, solved_after(conversation, turn, state))
    return conversation
