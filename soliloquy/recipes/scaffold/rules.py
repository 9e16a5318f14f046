"""Lists the faults for which a finished conversation is rejected, each with its rule, turn and evidence."""

from collections.abc import Collection, Iterator, Sequence

from soliloquy.recipes.agreement import letter_of, verdict_is_true, verification
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn
from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.rulebook import Rulebook, rulebook
from soliloquy.recipes.rules import (
    Broken,
    Needs,
    Rule,
    Rules,
    broken,
    common_rules,
    inapplicable,
    parted,
    settled_rules,
)
from soliloquy.recipes.scaffold.fit import check_answer, find_misfit, needs_calculation, settled_answer
from soliloquy.recipes.scaffold.labels_pb2 import ConversationLabels
from soliloquy.recipes.scaffold.memory import (
    closing_state,
    plan_of,
    questions,
    solved,
    solved_after,
    solved_before,
    sub_question,
)
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.reply_rules import REPLY_RULES, reply_faults
from soliloquy.recipes.scaffold.states import (
    ANSWERING,
    CORRECT,
    INCORRECT,
    NAMES,
    START,
    UNDRAWN,
    drawn_state,
    found_state,
    solving,
)
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Ruling, Turn


def check(conversation: Conversation) -> CheckedConversation:
    return check_by(conversation, BOOK)


def check_by(conversation: Conversation, book: Rulebook) -> CheckedConversation:
    lacking = inapplicable(conversation, BOOK, _NEEDS)
    turns = [] if "state" in lacking else [_checked_turn(turn, conversation) for turn in conversation.turns]
    faults, find_marks = parted(lambda names: _broken(conversation, names, len(conversation.turns)), book)
    return CheckedConversation(turns=turns, faults=faults, find_marks=find_marks, lacking=lacking)


def _broken(conversation: Conversation, names: Collection[str], last: int) -> Iterator[Broken]:
    lacking = inapplicable(conversation, BOOK, _NEEDS)
    asked = [name for name in names if name not in lacking]
    turns = conversation.turns[-last:]
    yield from broken(conversation, _RULES, [name for name in asked if name in _RULES], turns)
    of_replies = {name for name in asked if name in REPLY_RULES}
    for turn in (turn for turn in turns if of_replies and turn.HasField("tutor")):
        found = reply_faults(turn.tutor.text, turn.tutor.thoughts, found_state(turn), conversation, turn)
        yield from (Broken(name, turn.number, evidence) for name, evidence in found if name in of_replies)


def _checked_turn(turn: Turn, conversation: Conversation) -> CheckedTurn:
    state = drawn_state(turn)
    is_right = check_answer(conversation, turn).right if state in ANSWERING else None
    settled = settled_answer(conversation, turn) is not None
    return CheckedTurn(
        meant_wrong=state == INCORRECT if state in (CORRECT, INCORRECT) else None,
        right=is_right,
        verdict_true=verdict_is_true(turn, is_right),
        codes={"state": NAMES.get(found_state(turn), ""), "evaluation": letter_of(turn)},
        verification=verification(turn, settled=settled),
        message=turn.student.text,
        reply=turn.tutor.text,
    )


def _endless(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    if len(conversation.turns) > POLICY["talk"]["most_turns"]:
        yield len(conversation.turns), f"the last one; {POLICY['talk']['most_turns']} are allowed"


def _state(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn in turns:
        drawn, assessed = drawn_state(turn), found_state(turn)
        if drawn != UNDRAWN and assessed != closing_state(conversation, turn, drawn):
            yield turn.number, f"drawn {NAMES.get(drawn)!r}, and found to be {NAMES.get(assessed)!r}"
        if rejected := find_misfit(conversation, turn):
            yield turn.number, rejected.because


def _blind(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn in turns:
        if needs_calculation(conversation, turn) and not has_run(turn.calculation):
            yield turn.number, "a number is judged although no program ran"


def _progress(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn in turns:
        before, after, state = solved_before(conversation, turn), solved(turn), found_state(turn)
        if (state == START) != (turn.number == 1):
            yield turn.number, f"the state {NAMES.get(state)!r} in this turn"
        elif all(before) or sub_question(turn) != before.index(False) + 1:
            yield turn.number, f"sub-question {sub_question(turn)} is asked for after {before}"
        elif after != solved_after(conversation, turn, state):
            yield turn.number, f"{after} after {before} and {NAMES.get(state)!r}"
    for last in conversation.turns[-1:]:
        if all(solved(last)) != (
            found_state(last) in solving(conversation) and conversation.ending == Ending.ENDING_SOLVED
        ):
            yield last.number, f"ends with {solved(last)}"


def _session(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    opinion = ConversationLabels.FromString(conversation.labels).session
    if opinion.ruling == Ruling.RULING_NO:
        yield len(conversation.turns), opinion.because


def _verifier(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    if why := plan_of(conversation.problem).refused_because:
        yield 1, why


_NEEDS: Needs = {
    "plan": lambda conversation: bool(questions(conversation)),
}
_RULES: dict[str, Rule] = (
    common_rules(POLICY["talk"], POLICY["agreeing"])
    | settled_rules(settled_answer)
    | {
        "endless": _endless,
        "state": _state,
        "blind": _blind,
        "progress": _progress,
        "session": _session,
        "verifier": _verifier,
    }
)
BOOK = rulebook(POLICY, "scaffold/rules.toml", [*_RULES, *REPLY_RULES])
RULES = Rules(
    book=BOOK,
    broken=_broken,
    check_by=check_by,
    settled=lambda conversation: settled_answer(conversation, conversation.turns[-1]),
)
