"""Rules for the tutor's reply: a reply that breaks one is asked for again, a finished turn with one is rejected."""

import functools
import re
from collections.abc import Iterator, Sequence

from soliloquy.recipes.scaffold.expected_answers import miscalculations, revealed
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, SubQuestion
from soliloquy.recipes.scaffold.memory import current_question, questions, solved_after
from soliloquy.recipes.scaffold.plan_rules import POLICY as PLANNING
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.states import END, NAMES, solving
from soliloquy.texts.utterances import content_words
from soliloquy.truth.quantities import values_in
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_ASKS = re.compile(r"\?+")
_SENTENCE = re.compile(r"(?<=[.!:;])\s+")
# The words of another person, such as the question of the problem.
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»")
_CLAUSE = re.compile(r"[.;:!?,]\s+")
# The answers of a question that is answered by a word that a reply says anyway: "Yes, 70 degrees."
_YES_OR_NO = ("yes", "no")
# Asked of each reply, by what it says and the state that it answers.
REPLY_RULES = ("rationale", "arithmetic", "revealed", "questions", "summary", "off_task")


def reply_faults(
    reply: str, analysis: str, state: LearnerState, conversation: Conversation, turn: Turn
) -> Iterator[tuple[str, str]]:
    """Yields each rule that a reply breaks in this state, with what the model is to fix."""
    if state == END:
        yield from _at_the_end(reply, conversation)
    else:
        yield from _on_the_way(reply, state, conversation, turn)
    # A reply may quote what the student miscalculated, but not as right.
    false, is_solved = list(miscalculations(reply)), state in solving(conversation)
    quoted = {_tight(one) for one in miscalculations(turn.student.text)} if false and not is_solved else set()
    for calculation in false:
        if _tight(calculation) not in quoted:
            yield "arithmetic", f"the reply says {calculation!r}, which does not come out"
    # An imported reply may have no state.
    if state in NAMES and (cue := _contradiction(analysis, NAMES[state])):
        yield "rationale", f"the analysis says {cue!r}, and the state is {NAMES[state]!r}"


def count_questions(text: str) -> int:
    """Counts the questions of a text, including a final request: "Find the number of teams."."""
    text = _QUOTED.sub("", text).replace("’", "'").strip()
    return len(_ASKS.findall(text)) or int(_request().search(_SENTENCE.split(text)[-1]) is not None)


@functools.cache
def _request() -> re.Pattern[str]:
    """Matches a request at the beginning of a clause: "Divide by 4, and tell me why.", "Good, now add 4."."""
    requests, openings = ("|".join(PLANNING["plans"][words]) for words in ("requests", "openings"))
    begins = rf"^|^(?:to|if|for|when)\b[^,]*,\s|\band\s|\bthen\s|\bplease\s|,\s(?=(?:{openings})\b)"
    # "Work is force times distance" asks for nothing.
    is_subject = r"\s+(?:is|are|was|has|equals)\b"
    return re.compile(rf"(?:{begins})\W*(?:(?:{openings})\b\W*)*(?:{requests})\b(?!{is_subject})", re.IGNORECASE)


def _on_the_way(reply: str, state: LearnerState, conversation: Conversation, turn: Turn) -> Iterator[tuple[str, str]]:
    count = count_questions(reply)
    # A request without a question mark is known in English alone.
    if count > 1 or (not count and not conversation.run.language):
        yield "questions", f"the reply asks {count} questions; ask exactly one"
    solved = solved_after(conversation, turn, state)
    parted = list(zip(questions(conversation), solved, strict=True))
    hidden = [target for target, done in parted if not done]
    known = [
        conversation.problem.question,
        *(text for target, done in parted if done for text in (target.question, target.answer)),
        hidden[0].question,
    ]
    for target in revealed(reply, [one for one in hidden if not _is_yes_or_no(one)], "\n".join(known)):
        yield "revealed", f"the reply tells {target.answer!r}, which the student has still to find"
    answers = (target.answer for target in hidden)
    names = (step.result.name for step in conversation.problem.steps)
    told = [*known, current_question(conversation, turn).question, *names]
    if not _is_about(reply, told, [turn.student.text, *answers]):
        yield "off_task", "the reply is not about the problem: lead back to it"


def _is_about(reply: str, told: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a reply is mathematical, or shares a word with what was told, or a number with any text."""
    stems = _stems(reply)
    if stems & _mathematical() or any(stems & _stems(text) for text in told):
        return True
    return any(values_in(reply) & values_in(text) for text in (*told, *others))


def _at_the_end(reply: str, conversation: Conversation) -> Iterator[tuple[str, str]]:
    if count := len(_ASKS.findall(_QUOTED.sub("", reply))):
        yield "questions", f"the reply asks {count} questions, and nothing is left to ask"
    last = questions(conversation)[-1]
    if not any(revealed(reply, [last], "")):
        yield "summary", f"the reply does not say the final answer, {last.answer!r}"


def _is_yes_or_no(target: SubQuestion) -> bool:
    return target.answer.strip(" .!").casefold() in _YES_OR_NO


def _tight(calculation: str) -> str:
    return "".join(calculation.split())


@functools.lru_cache(1024)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in content_words(text) if len(word) > 1)


@functools.cache
def _mathematical() -> frozenset[str]:
    return frozenset(map(_stem, POLICY["talk"]["mathematical"]))


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > POLICY["talk"]["telling_word"] else word


def _contradiction(analysis: str, state: str) -> str:
    """Returns the words by which an analysis contradicts its state, unless it also says what agrees with the state."""
    cues, agreeing = _cues("contradicting").get(state), _cues("agreeing_words").get(state)
    if cues is None or (agreeing and agreeing.search(analysis)):
        return ""
    past = _cues("past")["words"]
    clauses = (clause for clause in _CLAUSE.split(analysis) if not past.search(clause))
    found = (cue[0] for clause in clauses if (cue := cues.search(clause)))
    return next(found, "")


@functools.cache
def _cues(table: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile("|".join(cues), re.IGNORECASE) for name, cues in POLICY[table].items()}
