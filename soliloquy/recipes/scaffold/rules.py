"""Lists the faults for which a finished conversation is rejected, each with its rule, turn and evidence."""

from collections.abc import Collection

from soliloquy.recipes import agreement
from soliloquy.recipes.agreement import letter_of, verdict_is_true, verification
from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.rules import Needs, Rule, common_rules, faults_of, inapplicable
from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.fit import check_answer, find_misfit, needs_calculation
from soliloquy.recipes.scaffold.memory import (
    closing_state,
    current_question,
    plan_of,
    questions,
    solved,
    solved_after,
    solved_before,
    sub_question,
)
from soliloquy.recipes.scaffold.plan_rules import is_worked_through
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.reply_rules import reply_faults
from soliloquy.recipes.scaffold.states import (
    ANSWERING,
    CORRECT,
    INCORRECT,
    NAMES,
    SOLVING,
    START,
    UNDRAWN,
    drawn_state,
    found_state,
)
from soliloquy.truth.report import CheckedConversation, CheckedTurn
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn


def check(conversation: Conversation) -> CheckedConversation:
    lacking = inapplicable(conversation, POLICY, _NEEDS)
    turns = [] if "state" in lacking else [_checked_turn(turn, conversation) for turn in conversation.turns]
    return CheckedConversation(turns=turns, faults=_faults(conversation, lacking), lacking=lacking)


def _faults(conversation: Conversation, lacking: Collection[str]) -> list[str]:
    found = faults_of(conversation, _RULES, [name for name in POLICY["rules"] if name in _RULES.keys() - lacking])
    for turn in (turn for turn in conversation.turns if turn.HasField("tutor") and "rationale" not in lacking):
        broken = reply_faults(turn.tutor.text, turn.tutor.thoughts, found_state(turn), conversation, turn)
        rules = ((name.replace("_", " "), evidence) for name, evidence in broken if name in POLICY["rules"])
        found += [f"{rule}: turn {turn.number}: {evidence}" for rule, evidence in rules]
    return found


def _checked_turn(turn: Turn, conversation: Conversation) -> CheckedTurn:
    state = drawn_state(turn)
    is_right = gives_expected(turn.student.text, current_question(conversation, turn)) if state in ANSWERING else None
    settled = is_right is not None and _is_worked_through(conversation, turn)
    return CheckedTurn(
        meant_wrong=state == INCORRECT if state in (CORRECT, INCORRECT) else None,
        right=is_right,
        verdict_true=verdict_is_true(turn, is_right),
        codes={"state": NAMES.get(found_state(turn), ""), "evaluation": letter_of(turn)},
        verification=verification(turn, conversation.problem, settled=settled),
        message=turn.student.text,
        reply=turn.tutor.text,
    )


def _is_worked_through(conversation: Conversation, turn: Turn) -> bool:
    return is_worked_through(sub_question(turn), plan_of(conversation.problem), conversation.problem)


def _endless(conversation: Conversation) -> Findings:
    if len(conversation.turns) > POLICY["talk"]["most_turns"]:
        yield len(conversation.turns), f"the last one; {POLICY['talk']['most_turns']} are allowed"


def _state(conversation: Conversation) -> Findings:
    for turn in conversation.turns:
        drawn, assessed = drawn_state(turn), found_state(turn)
        if drawn != UNDRAWN and assessed != closing_state(conversation, turn, drawn):
            yield turn.number, f"drawn {NAMES.get(drawn)!r}, and found to be {NAMES.get(assessed)!r}"
        if rejected := find_misfit(conversation, turn):
            yield turn.number, rejected.because


def _contradiction(conversation: Conversation) -> Findings:
    """The tutor contradicts its code, or the code contradicts the plan."""
    yield from agreement.contradictions(conversation, POLICY["agreeing"])
    for turn in conversation.turns:
        ran = check_answer(conversation, turn).right if turn.calculation.attempts else None
        expected = gives_expected(turn.student.text, current_question(conversation, turn))
        if ran is not None and expected is not None and ran != expected:
            wanted = current_question(conversation, turn).answer
            yield turn.number, f"the code finds {'right' if ran else 'wrong'} what is not so with {wanted!r}"


def _blind(conversation: Conversation) -> Findings:
    for turn in conversation.turns:
        if needs_calculation(conversation, turn) and not has_run(turn.calculation):
            yield turn.number, "a number is judged although no program ran"


def _progress(conversation: Conversation) -> Findings:
    for turn in conversation.turns:
        before, after, state = solved_before(conversation, turn), solved(turn), found_state(turn)
        if (state == START) != (turn.number == 1):
            yield turn.number, f"the state {NAMES.get(state)!r} in this turn"
        elif all(before) or sub_question(turn) != before.index(False) + 1:
            yield turn.number, f"sub-question {sub_question(turn)} is asked for after {before}"
        elif after != solved_after(conversation, turn, state):
            yield turn.number, f"{after} after {before} and {NAMES.get(state)!r}"
    for last in conversation.turns[-1:]:
        if all(solved(last)) != (found_state(last) in SOLVING and conversation.ending == Ending.ENDING_SOLVED):
            yield last.number, f"ends with {solved(last)}"


_NEEDS: Needs = {"plan": lambda conversation: bool(questions(conversation))}
_RULES: dict[str, Rule] = common_rules(POLICY["talk"], POLICY["agreeing"]) | {
    "endless": _endless,
    "state": _state,
    "contradiction": _contradiction,
    "blind": _blind,
    "progress": _progress,
}
