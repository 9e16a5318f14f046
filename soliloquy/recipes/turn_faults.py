"""Finds at a turn what breaks a recipe's rules, and says what becomes of it."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import takewhile

from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.recipe import Recipe
from soliloquy.recipes.rewinding import rewound
from soliloquy.recipes.rules import Broken, Rules
from soliloquy.recipes.seat import has_person
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Judge, RejectedTry, Turn
from soliloquy.v1.events_pb2 import CalculationNeeded, ConversationFinished, StudentRejected


def faults_in(before: Conversation, after: Conversation, role: str, rules: Rules) -> list[Broken]:
    """Returns the rules that a role's answer to `before` breaks, without the faults that were there already."""
    names = rules.book.on_plan(after.problem).asked_of(role)
    if (
        role == "codegen"
        or not names
        or not after.turns
        or not after.turns[-1].HasField("tutor" if role == "composer" else "student")
    ):
        return []
    last = after.turns[-1].number
    found = [fault for fault in rules.broken(after, names, 1) if fault.turn == last]
    # Only what the student said may have been at fault before the tutor replied.
    shared = {fault.rule for fault in found if set(rules.book.rules[fault.rule].by) != {role}}
    if not shared or not before.turns or before.turns[-1].number != last:
        return found
    earlier = set(rules.broken(before, shared, 1))
    return [fault for fault in found if fault not in earlier]


def reason_of(faults: Sequence[Broken], rules: Rules, language: str) -> str:
    """Returns the reason for the model."""
    return "; ".join(f"{rules.says(fault.rule, language)}: {fault.evidence}" for fault in faults)


def rejected(
    role: str, conversation: Conversation, faults: Sequence[Broken], rules: Rules, prompt: str = ""
) -> RejectedTry:
    """Returns the record of an answer in the last turn that goes back."""
    turn = conversation.turns[-1]
    calculation = turn.calculation
    text = {
        "student": turn.student.text,
        "tutor": calculation.description or "no calculation",
        "codegen": calculation.attempts[-1].code if calculation.attempts else "",
        "composer": turn.tutor.text,
    }[role]
    certain = rules.book.rules[faults[0].rule].certain
    return RejectedTry(
        role=role,
        prompt=prompt,
        text=text,
        rule=faults[0].rule,
        because=reason_of(faults, rules, conversation.problem.language),
        judge=Judge.JUDGE_RULE,
        certain=certain,
        programs=len(calculation.attempts) - (role == "codegen"),
    )


def settled(outcome: Outcome, faults: Sequence[Broken], recipe: Recipe) -> Outcome:
    """Takes turns back for what no try has mended, or for what shows only at the end; else ends the conversation."""
    [message] = outcome
    conversation = message.conversation
    assert recipe.rules is not None
    book = recipe.rules.book.on_plan(conversation.problem)
    if condemning := next((fault for fault in faults if book.condemns(fault.rule)), None):
        if has_person(conversation):
            return outcome
        certain = book.rules[condemning.rule].certain
        taken_back = rewound(conversation, condemning, certain=certain, most=book.mending.rewinds)
        return taken_back or finish(conversation, Ending.ENDING_REJECTED, str(condemning))
    if isinstance(message, ConversationFinished) and (late := _late_fault(conversation, recipe, recipe.rules)):
        certain = late.rule not in book.rules or book.rules[late.rule].certain
        return rewound(conversation, late, certain=certain, most=book.mending.rewinds) or outcome
    return outcome


def sent_back(conversation: Conversation, recipe: Recipe) -> Outcome | None:
    """Sends back what only a program that has run shows to be at fault: the program, or the student's message."""
    said, rules = conversation.turns[-1], recipe.rules
    if rules is None or conversation.person or not said.calculation.attempts:
        return None
    book = rules.book.on_plan(conversation.problem)
    messages = [one for one in said.rejected if one.role == "student"]
    tried = {"codegen": len(programs_sent_back(said)), "student": len(messages)}
    names = {
        name: role
        for role, tries in tried.items()
        if tries < book.mending.tries_of(role)
        for name in book.shown_by_programs(role)
    }
    found = list(rules.broken(conversation, names, 1)) if names else []
    # A wrong program shows nothing of the message.
    if programs := [fault for fault in found if names[fault.rule] == "codegen"]:
        return _program_back(deepcopy(conversation), programs, rules)
    return _message_back(deepcopy(conversation), found, rules) if found else None


def programs_sent_back(turn: Turn) -> list[RejectedTry]:
    """Returns the programs for the student's latest message that went back, latest first."""
    return [*takewhile(lambda one: one.role == "codegen", reversed(turn.rejected))]


def _program_back(conversation: Conversation, found: Sequence[Broken], rules: Rules) -> Outcome:
    turn = conversation.turns[-1]
    claimed = {place for one in turn.rejected for place in one.calls}
    asked = [place for place, call in enumerate(turn.calls) if call.role == "codegen" and place not in claimed]
    record = rejected("codegen", conversation, found, rules, turn.calls[asked[-1]].prompt if asked else "")
    record.calculation.CopyFrom(turn.calculation)
    record.calls.extend(asked)
    turn.rejected.append(record)
    del turn.calculation.attempts[:]
    return emit(CalculationNeeded(conversation=conversation))


def _message_back(conversation: Conversation, found: Sequence[Broken], rules: Rules) -> Outcome:
    turn = conversation.turns[-1]
    asked = [place for place, call in enumerate(turn.calls) if call.role == "student"]
    record = rejected("student", conversation, found, rules, turn.calls[asked[-1]].prompt if asked else "")
    record.calculation.CopyFrom(turn.calculation)
    record.judge = Judge.JUDGE_CODE
    turn.rejected.append(record)
    claim_calls(turn)
    turn.ClearField("calculation")
    return emit(StudentRejected(conversation=conversation))


def claim_calls(turn: Turn) -> None:
    """Gives the calls since the try before it to a message that was sent back after others had worked on it."""
    for place, one in enumerate(turn.rejected):
        if not one.calls:
            claimed = {call for other in turn.rejected[:place] for call in other.calls}
            one.calls.extend(call for call in range(len(turn.calls)) if call not in claimed)
            asked = (turn.calls[call].prompt for call in one.calls if turn.calls[call].role == one.role)
            one.prompt = one.prompt or next(asked, "")


def _late_fault(conversation: Conversation, recipe: Recipe, rules: Rules) -> Broken | None:
    """Returns what only the whole conversation shows, or that nobody gave what the turn needs."""
    turns = len(conversation.turns)
    if conversation.ending in recipe.complete:
        names = rules.book.on_plan(conversation.problem).of_conversations()
        return next(iter(rules.broken(conversation, names, turns)), None)
    if conversation.ending == Ending.ENDING_REJECTED and (tried := conversation.turns[-1].rejected):
        return Broken(tried[-1].rule, turns, tried[-1].because)
    if conversation.ending == Ending.ENDING_TURN_LIMIT:
        return Broken("endless", turns // 2 + 1, f"it has not ended after {turns} turns")
    return None
