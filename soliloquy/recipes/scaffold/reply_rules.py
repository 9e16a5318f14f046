"""Rules for the tutor's reply: a reply that breaks one is asked for again, a finished turn with one is rejected."""

import functools
import re
from collections.abc import Iterator

from soliloquy.recipes.scaffold.expected_answers import revealed
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState
from soliloquy.recipes.scaffold.memory import current_question, questions, solved_after
from soliloquy.recipes.scaffold.plan_rules import POLICY as PLANNING
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.states import END, NAMES
from soliloquy.truth.phrases import words_of
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_ASKS = re.compile(r"\?+")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!:;])\s+")


# Asked of each reply, by what it says and the state that it answers.
REPLY_RULES = ("rationale", "revealed", "questions", "summary", "off_task")


def reply_faults(
    reply: str, analysis: str, state: LearnerState, conversation: Conversation, turn: Turn
) -> Iterator[tuple[str, str]]:
    """Yields each rule that a reply breaks in this state, with what the model is to fix."""
    if state == END:
        yield from _at_the_end(reply, conversation)
    else:
        yield from _on_the_way(reply, state, conversation, turn)
    # An imported reply may have no state.
    contradicting = _contradicting(NAMES[state]) if state in NAMES else None
    if contradicting and (cue := contradicting.search(analysis)):
        yield "rationale", f"the analysis says {cue[0]!r}, and the state is {NAMES[state]!r}"


def count_questions(text: str) -> int:
    """Counts the questions of a text, including a final request: "Find the number of teams."."""
    last = _WORD.search(_SENTENCE.split(text.strip())[-1])
    return len(_ASKS.findall(text)) or int(last is not None and last[0].lower() in PLANNING["plans"]["requests"])


def _on_the_way(reply: str, state: LearnerState, conversation: Conversation, turn: Turn) -> Iterator[tuple[str, str]]:
    count = count_questions(reply)
    if count != 1:
        yield "questions", f"the reply asks {count} questions; ask exactly one"
    solved = solved_after(conversation, turn, state)
    parted = list(zip(questions(conversation), solved, strict=True))
    hidden = [target for target, done in parted if not done]
    known = "\n".join(
        [
            conversation.problem.question,
            *(text for target, done in parted if done for text in (target.question, target.answer)),
            hidden[0].question,
        ]
    )
    for target in revealed(reply, hidden, known):
        yield "revealed", f"the reply tells {target.answer!r}, which the student has still to find"
    about = f"{conversation.problem.question} {current_question(conversation, turn).question} {hidden[0].question}"
    if not _telling_words(about) & words_of(reply):
        yield "off_task", "the reply is not about the problem: lead back to it"


def _at_the_end(reply: str, conversation: Conversation) -> Iterator[tuple[str, str]]:
    if count := count_questions(reply):
        yield "questions", f"the reply asks {count} questions, and nothing is left to ask"
    last = questions(conversation)[-1]
    if not any(revealed(reply, [last], "")):
        yield "summary", f"the reply does not say the final answer, {last.answer!r}"


@functools.lru_cache(1024)
def _telling_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if len(word) > POLICY["talk"]["telling_word"])


@functools.cache
def _contradicting(state: str) -> re.Pattern[str] | None:
    cues = POLICY["contradicting"].get(state)
    return re.compile("|".join(cues), re.IGNORECASE) if cues else None
