"""The rules that a finished conversation must satisfy. A fault names the rule, the turn and the evidence."""

from collections.abc import Collection, Iterable, Sequence

from soliloquy.recipes.agreement import calls_answer, letter_of, verdict_is_true, verification
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn
from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.mathdial.claims import (
    claimed_value,
    comes_to_answer,
    gives_right,
    holds_answer,
    is_unsettled,
    settled_answer,
    slips,
)
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels, StudentLabels
from soliloquy.recipes.mathdial.moves import OPENING, belongs, intent_name, move_name
from soliloquy.recipes.mathdial.policy import POLICY
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
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Resolution, Turn


def incomplete(conversation: Conversation) -> str:
    return conversation.ending_reason or f"not finished: {Ending.Name(conversation.ending)}"


def checked(conversation: Conversation) -> CheckedConversation:
    return check_by(conversation, BOOK)


def check_by(conversation: Conversation, book: Rulebook) -> CheckedConversation:
    turns = [_checked_turn(turn, conversation) for turn in conversation.turns]
    faults, find_marks = parted(lambda names: _broken(conversation, names, len(turns)), book)
    lacking = inapplicable(conversation, BOOK, _NEEDS)
    return CheckedConversation(turns=turns, faults=faults, find_marks=find_marks, lacking=lacking)


def _broken(conversation: Conversation, names: Collection[str], last: int) -> Iterable[Broken]:
    lacking = inapplicable(conversation, BOOK, _NEEDS)
    return broken(conversation, _RULES, [name for name in names if name not in lacking], conversation.turns[-last:])


def _reasons_wanted(conversation: Conversation) -> int:
    return ConversationLabels.FromString(conversation.labels).reasons_wanted


def _checked_turn(turn: Turn, conversation: Conversation) -> CheckedTurn:
    student = turn.student
    meant = {Belief.BELIEF_HELD: True, Belief.BELIEF_GIVEN_UP: False}.get(_labels(turn).belief)
    settled = settled_answer(conversation, turn)
    right = settled.right if settled is not None else None
    return CheckedTurn(
        meant_wrong=meant,
        right=right,
        verdict_true=verdict_is_true(turn, right),
        codes={"evaluation": letter_of(turn), "move": move_name(turn.tutor), "intent": intent_name(turn.tutor)},
        verification=verification(turn, settled=settled is not None),
        message=student.text,
        reply=turn.tutor.text,
    )


def _labels(turn: Turn) -> StudentLabels:
    return StudentLabels.FromString(turn.student.labels)


def _moves(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for turn in turns:
        move, intent = move_name(turn.tutor), intent_name(turn.tutor)
        if not belongs(move, intent):
            yield turn.number, f"move {move!r} with intent {intent!r}"


def _opening(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    for first in (turn for turn in turns if turn.number == 1):
        opened = (move_name(first.tutor), intent_name(first.tutor))
        if opened != OPENING or first.HasField("student"):
            yield 1, f"the conversation begins with {' '.join(opened)}"


def _blind(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """The tutor evaluates an answer that is a number only after a program ran, unless a settled value tells."""
    for turn in turns:
        if letter_of(turn) in ("a", "b") and not has_run(turn.calculation) and is_unsettled(conversation, turn):
            yield turn.number, f"it {calls_answer(turn)} although no program ran"


def _solved(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    problem, looked_at = conversation.problem, list(turns)
    if turns and conversation.ending == Ending.ENDING_SOLVED:
        # The student may give the answer and then be asked for its reasons, or give thanks.
        said = [turn.student.text for turn in conversation.turns]
        if conversation.resolution == Resolution.RESOLUTION_REVEALED:
            said += [turn.tutor.text for turn in conversation.turns]
        is_given = any(gives_right(turn, problem) for turn in conversation.turns)
        if not is_given and not any(comes_to_answer(text, problem) or holds_answer(text, problem) for text in said):
            yield turns[-1].number, "said to be solved without the right answer"
        looked_at.pop()
    for turn in looked_at:
        if _labels(turn).belief == Belief.BELIEF_GIVEN_UP and gives_right(turn, problem):
            yield turn.number, "the right answer, and the conversation goes on"


def _belief(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    if conversation.person:
        return
    problem = conversation.problem
    wrong = confusion_of(problem.enrichment).answer
    for turn in turns:
        if _labels(turn).belief == Belief.BELIEF_GIVEN_UP:
            if claimed_value(turn, problem) == wrong:
                yield turn.number, f"returns to {wrong:g}"
        elif gives_right(turn, problem):
            needed = _reasons_wanted(conversation)
            yield turn.number, f"gives the right answer after {_labels(turn).reasons} of {needed} good reasons"


def _arithmetic(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """Calculations of a simulated student must be correct; a person may slip."""
    if conversation.person:
        return
    for turn in turns:
        for slip in slips(turn.student.text):
            yield turn.number, slip


def _check_told_answers(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    problem, given = conversation.problem, False
    first = turns[0].number if turns else 0
    for turn in conversation.turns:
        given = given or holds_answer(turn.student.text, problem) or intent_name(turn.tutor) == "reveal_answer"
        if not given and turn.number >= first and holds_answer(turn.tutor.text, problem):
            yield turn.number, f"a {move_name(turn.tutor)} move tells the final answer"


def _handed_in(conversation: Conversation) -> str:
    return confusion_of(conversation.problem.enrichment).solution


_NEEDS: Needs = {
    "intents": lambda conversation: any(intent_name(turn.tutor) for turn in conversation.turns),
    "belief": lambda conversation: _reasons_wanted(conversation) > 0,
}
_RULES: dict[str, Rule] = (
    common_rules(POLICY["talk"], POLICY["agreeing"], _handed_in)
    | settled_rules(settled_answer)
    | {
        "moves": _moves,
        "opening": _opening,
        "blind": _blind,
        "solved": _solved,
        "belief": _belief,
        "arithmetic": _arithmetic,
        "told": _check_told_answers,
    }
)
BOOK = rulebook(POLICY, "mathdial/rules.toml", _RULES)
RULES = Rules(
    book=BOOK,
    broken=_broken,
    check_by=check_by,
    settled=lambda conversation: settled_answer(conversation, conversation.turns[-1]),
)
