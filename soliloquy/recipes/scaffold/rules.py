"""The rules that a finished conversation must keep to be kept. A fault names the rule, the turn and the evidence."""

from collections.abc import Callable, Iterator

from soliloquy.recipes import agreement, manners
from soliloquy.recipes.agreement import letter
from soliloquy.recipes.manners import Found
from soliloquy.recipes.scaffold.expected_answers import gives_number, is_number, right
from soliloquy.recipes.scaffold.fit import found, misfit
from soliloquy.recipes.scaffold.memory import closing, current, questions, solved_before, tracked
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.reply_rules import slips
from soliloquy.recipes.scaffold.states import ANSWERING, CORRECT, INCORRECT, NAMES, SOLVING, START, UNDRAWN
from soliloquy.truth.report import Checked, CheckedTurn
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn
from soliloquy.v1.sandbox_pb2 import Status


def faults(conversation: Conversation) -> list[str]:
    """Why the conversation is not kept; nothing where it is."""
    return list(judged(conversation).faults)


def judged(conversation: Conversation) -> Checked:
    """The same with what is so in each turn; of a conversation that was broken off nothing more is said."""
    if conversation.ending != Ending.ENDING_SOLVED:
        # The reasons of a refused plan and of a rejected message begin with what is counted.
        reason = conversation.ending_reason or f"not solved: {Ending.Name(conversation.ending)}"
        return Checked(turns=(), faults=[reason])
    return checked(conversation)


def checked(conversation: Conversation) -> Checked:
    return Checked(
        turns=[_checked_turn(turn, conversation) for turn in conversation.turns], faults=_broken(conversation)
    )


def consistent(conversation: Conversation) -> bool | None:
    """Whether every message shows what was drawn for it; None for a person, for whom nothing was."""
    return None if conversation.person else not list(_state(conversation))


def _broken(conversation: Conversation) -> list[str]:
    if not questions(conversation):
        return ["plan: the problem has none"]
    broken = [(name, at) for name in POLICY["rules"] if name in _RULES for at in _RULES[name](conversation)]
    broken += [(name, (turn.number, evidence)) for turn, name, evidence in _slips(conversation)]
    return [f"{name.replace('_', ' ')}: turn {turn}: {evidence}" for name, (turn, evidence) in broken]


def _checked_turn(turn: Turn, conversation: Conversation) -> CheckedTurn:
    state = turn.student.learner_state
    is_right = right(turn.student.text, current(conversation, turn)) if state in ANSWERING else None
    judged_right = {"b": True, "a": False}.get(letter(turn))
    return CheckedTurn(
        meant_wrong=state == INCORRECT if state in (CORRECT, INCORRECT) else None,
        right=is_right,
        verdict_true=None if is_right is None or judged_right is None else judged_right == is_right,
        codes={"state": NAMES.get(turn.tutor.learner_state, ""), "evaluation": letter(turn)},
        message=turn.student.text,
        reply=turn.tutor.text,
    )


def _slips(conversation: Conversation) -> Iterator[tuple[Turn, str, str]]:
    """What a reply should not have been sent with."""
    for turn in conversation.turns:
        state = turn.tutor.learner_state
        for name, evidence in slips(turn.tutor.text, turn.tutor.thoughts, state, conversation, turn):
            if name in POLICY["rules"]:
                yield turn, name, evidence


def _of_manners(rule: Callable[[Conversation, manners.Policy], Found]) -> Callable[[Conversation], Found]:
    return lambda conversation: rule(conversation, POLICY["talk"])


def _endless(conversation: Conversation) -> Found:
    if len(conversation.turns) > POLICY["talk"]["most_turns"]:
        yield len(conversation.turns), f"the last one; {POLICY['talk']['most_turns']} are allowed"


def _state(conversation: Conversation) -> Found:
    for turn in conversation.turns:
        drawn, assessed = turn.student.learner_state, turn.tutor.learner_state
        if drawn != UNDRAWN and assessed != closing(conversation, turn, drawn):
            yield turn.number, f"drawn {NAMES.get(drawn)!r}, and found to be {NAMES.get(assessed)!r}"
        if rejected := misfit(conversation, turn):
            yield turn.number, rejected.because


def _contradiction(conversation: Conversation) -> Found:
    """The tutor against its code, or the code against the plan."""
    yield from agreement.contradiction(conversation, POLICY["agreeing"])
    for turn in conversation.turns:
        ran = found(conversation, turn).right if turn.calculation.attempts else None
        expected = right(turn.student.text, current(conversation, turn))
        if ran is not None and expected is not None and ran != expected:
            wanted = current(conversation, turn).answer
            yield turn.number, f"the code finds {'right' if ran else 'wrong'} what is not so with {wanted!r}"


def _blind(conversation: Conversation) -> Found:
    for turn in conversation.turns:
        attempts = turn.calculation.attempts
        ran = attempts and attempts[-1].execution.status == Status.STATUS_OK
        answers = turn.student.learner_state in ANSWERING and is_number(current(conversation, turn))
        if answers and not ran and gives_number(turn.student.text):
            yield turn.number, "a number is judged although no program ran"


def _progress(conversation: Conversation) -> Found:
    for turn in conversation.turns:
        before, state = solved_before(conversation, turn), turn.tutor.learner_state
        if (state == START) != (turn.number == 1):
            yield turn.number, f"the state {NAMES.get(state)!r} in this turn"
        elif all(before) or turn.sub_question != before.index(False) + 1:
            yield turn.number, f"sub-question {turn.sub_question} is asked for after {before}"
        elif list(turn.solved) != tracked(conversation, turn, state):
            yield turn.number, f"{list(turn.solved)} after {before} and {NAMES.get(state)!r}"
    last = conversation.turns[-1]
    if all(last.solved) != (last.tutor.learner_state in SOLVING and conversation.ending == Ending.ENDING_SOLVED):
        yield last.number, f"ends with {list(last.solved)}"


_RULES: dict[str, Callable[[Conversation], Found]] = {
    "length": _of_manners(manners.length),
    "endless": _endless,
    "empty": _of_manners(manners.empty),
    "speaks_for": _of_manners(manners.speaks_for),
    "state": _state,
    "contradiction": _contradiction,
    "blind": _blind,
    "progress": _progress,
    "repeated": _of_manners(manners.repeated),
}
