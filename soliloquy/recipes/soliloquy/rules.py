"""Lists the faults for which a finished conversation is rejected, each with its rule, turn and evidence."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from soliloquy.recipes.agreement import calls_answer, letter_of, verdict_is_true, verification
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn
from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.rulebook import Rulebook, rulebook
from soliloquy.recipes.rules import Broken, Rules, common_rules, inapplicable, parted
from soliloquy.recipes.settled import program_fault, reply_fault
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS, GOING_BACK, STATE_LETTERS
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.truth import TurnTruth, assess, settled_answer
from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Conversation, Ending, Intent, Turn

POLICY = table_beside(__file__, "rules.toml")

SOLUTION_AFTER_WRONG = 2


def incomplete(conversation: Conversation) -> str:
    if conversation.ending == Ending.ENDING_REJECTED:
        return conversation.ending_reason
    return f"not solved: {conversation.ending_reason or Ending.Name(conversation.ending)}"


def check(conversation: Conversation) -> CheckedConversation:
    return check_by(conversation, BOOK)


def check_by(conversation: Conversation, book: Rulebook) -> CheckedConversation:
    book = book.on_plan(conversation.problem)
    lacking = inapplicable(conversation, BOOK)
    truths = assess(conversation, by_steps="verdict" not in lacking)
    faults, find_marks = parted(lambda names: _found(conversation, names, truths, lacking), book)
    turns = list(map(_checked_turn, truths))
    return CheckedConversation(turns=turns, faults=faults, find_marks=find_marks, lacking=lacking)


def _broken(conversation: Conversation, names: Collection[str], last: int) -> Iterable[Broken]:
    lacking = inapplicable(conversation, BOOK)
    truths = assess(conversation, by_steps="verdict" not in lacking)
    return _found(conversation, names, truths[-last:], lacking)


def _found(
    conversation: Conversation, names: Collection[str], truths: Sequence[TurnTruth], lacking: Collection[str]
) -> Iterator[Broken]:
    turns = [truth.turn for truth in truths]
    for name in names:
        if name not in lacking:
            own = _RULES.get(name)
            findings = own(conversation, truths) if own else _COMMON[name](conversation, turns)
            yield from (Broken(name, turn, evidence) for turn, evidence in findings)


def _checked_turn(truth: TurnTruth) -> CheckedTurn:
    student, tutor = truth.turn.student, truth.turn.tutor
    labels = _labels(truth.turn)
    right = truth.settled.right if truth.settled is not None else None
    # Openings and a person's messages have no drawn intent.
    drawn = student.intent in (Intent.INTENT_RIGHT, Intent.INTENT_WRONG)
    return CheckedTurn(
        meant_wrong=student.intent == Intent.INTENT_WRONG if drawn else None,
        right=right,
        verdict_true=verdict_is_true(truth.turn, right),
        codes={
            "evaluation": letter_of(truth.turn),
            "action": str(labels.action),
            "state": STATE_LETTERS.get(labels.state, ""),
        },
        # A program that ran for a step whose value is settled checks laws and equations, too.
        verification=verification(truth.turn, settled=truth.claim.settled or _is_checked(truth)),
        message=student.text,
        reply=tutor.text,
    )


def _is_checked(truth: TurnTruth) -> bool:
    return truth.result is not None and has_run(truth.turn.calculation)


def _verdict(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    for truth in (truth for truth in truths if not truth.is_guess):
        if why := reply_fault(truth.turn, truth.settled, conversation):
            yield truth.turn.number, why


def _blind(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    for truth in truths:
        turn = truth.turn
        failed = bool(turn.calculation.attempts) and not has_run(turn.calculation)
        if failed and truth.claim.said and letter_of(turn) in ("a", "b", "c"):
            yield turn.number, f"it {calls_answer(turn)} although no program ran"


def _steps(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    """Steps advance one by one unless the student asks to go back; the conversation ends at the last step."""
    last = len(conversation.problem.steps)
    for truth in truths:
        at, tutor = truth.progress.step, _labels(truth.turn)
        back = tutor.action == GOING_BACK and tutor.step == at - 1
        # A student may be ahead of the tutor's questions; a person need not state the results on the way.
        passed = {tutor.step} if conversation.person else {*range(at, tutor.step + 1)}
        ahead = tutor.step > at and passed <= truth.solved
        if tutor.step != at and not back and not ahead:
            yield truth.turn.number, f"step {tutor.step} while step {at} was at hand"
        elif STATE_LETTERS.get(tutor.state) == "t" and tutor.step != last:
            yield truth.turn.number, f"finished at step {tutor.step} of {last}"


def _three_wrong(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    enough = POLICY["wrong_answers_before_solution"]
    for truth in truths:
        if letter_of(truth.turn) != "a":
            continue
        labels, wrong = _labels(truth.turn), truth.progress.wrong_answers + 1
        # Wrong answers in a row are enough if the replies name several steps in turn.
        at_most = max(wrong, _wrong_in_a_row(conversation.turns[: truth.turn.number]))
        if labels.action == SOLUTION_AFTER_WRONG:
            if at_most < enough:
                yield truth.turn.number, f"the solution after {at_most} wrong answers"
        elif wrong >= enough and labels.step in (0, truth.progress.step):
            yield truth.turn.number, f"no solution after {wrong} wrong answers"


def _wrong_in_a_row(turns: Sequence[Turn]) -> int:
    """Counts the wrong answers at the end, after the last solution that was given."""
    ended = (
        at
        for at, turn in enumerate(reversed(turns))
        if letter_of(turn) != "a" or (at and _labels(turn).action in GIVING_ACTIONS)
    )
    return next(ended, len(turns))


def _early_answer(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    """A reply may give a result only once the student has stated it or the tutor may tell it.

    The results of a plan that was read are those of the student, too, unless the tutor calls its answer wrong.
    """
    for truth in truths:
        labels = _labels(truth.turn)
        is_of_step = STATE_LETTERS.get(labels.state) != "p"
        if conversation.problem.plan == PLAN_SOURCE_PROSE and not (letter_of(truth.turn) == "a" and is_of_step):
            continue
        hidden_from = truth.progress.step + (labels.action in GIVING_ACTIONS)
        for given in truth.early:
            if given.step >= hidden_from:
                yield truth.turn.number, f"gives {given.text!r} of step {given.step}"


def _drawn(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    """Only a settled value tells that an answer is not as it was drawn: a program may be wrong."""
    for truth in truths:
        wanted = {Intent.INTENT_RIGHT: True, Intent.INTENT_WRONG: False}.get(truth.turn.student.intent)
        settled = truth.settled if wanted is not None else None
        if settled is not None and settled.right is (not wanted):
            is_so, should_be = ("right", "wrong") if settled.right else ("wrong", "right")
            said = repr(settled.said) if settled.said else "what the student says"
            yield truth.turn.number, f"{said} is {is_so}, and was to be {should_be}"


def _wrong_program(conversation: Conversation, truths: Sequence[TurnTruth]) -> Findings:
    for truth in truths:
        if why := program_fault(truth.turn, truth.settled, conversation.problem):
            yield truth.turn.number, why


_OwnRule = Callable[[Conversation, Sequence[TurnTruth]], Findings]
_RULES: dict[str, _OwnRule] = {
    "verdict": _verdict,
    "blind": _blind,
    "steps": _steps,
    "three_wrong": _three_wrong,
    "early_answer": _early_answer,
    "drawn": _drawn,
    "wrong_program": _wrong_program,
}
_COMMON = common_rules(POLICY, POLICY["agreeing"])
BOOK = rulebook(POLICY, "soliloquy/rules.toml", [*_COMMON, *_RULES])
RULES = Rules(book=BOOK, broken=_broken, check_by=check_by, settled=settled_answer)


def _labels(turn: Turn) -> TutorLabels:
    return TutorLabels.FromString(turn.tutor.labels)
