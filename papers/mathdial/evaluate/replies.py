"""Evaluates tutor response generation: replies to recorded histories beside the original replies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from soliloquy.runtime.seeds import digest, seed
from soliloquy.texts.utterances import bigram_entropy, overlap_f1, uptake, words
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall
from soliloquy_papers.mathdial.evaluate.dialogues import require_recipe
from soliloquy_training.evaluation.bleu import bleu
from soliloquy_training.evaluation.cases import NO_ANSWER, digest_of, parse_outcomes
from soliloquy_training.evaluation.recipe_loop import RecipeLoop

# A fifth of the dialogues is the test part; two fifths of those are about problems that the rest does not contain.
_TEST = 0.2
_UNSEEN = 0.4
SEEN, UNSEEN = "seen", "unseen"
PARTS = ("all", SEEN, UNSEEN)
# Scores each text by its reference.
TextSimilarity = Callable[[Sequence[str], Sequence[str]], list[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedHistory:
    """A dialogue up to a student's message, and the original tutor's reply."""

    # Its last turn holds only the student's message.
    conversation: Conversation
    reference: str
    # Whether the training part has the same problem.
    part: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyResult:
    history: RecordedHistory
    text: str
    # Why there is no reply.
    ended: str = ""
    calls: Sequence[ModelCall] = ()

    def as_json(self) -> dict[str, Any]:
        conversation = self.history.conversation
        return {
            "case": conversation.id,
            "part": self.history.part,
            "question": conversation.problem.question,
            "student": conversation.turns[-1].student.text,
            "reference": self.history.reference,
            "reply": self.text,
            "passed": {},
            "ended": self.ended,
            "parsed": parse_outcomes(self.calls),
        }


def histories(
    conversations: Iterable[Conversation], name: str, learned: Iterable[Conversation] | None
) -> list[RecordedHistory]:
    """Returns each message of the test dialogues that has a reply.

    With `learned`, the dialogues that a model was trained on, all others are test dialogues, and a problem is seen if
    `learned` contains it.

    Otherwise hashes of problem and dialogue put 80 % of the dialogues into the training part. About 60 % of the test
    dialogues are then about a seen problem, if problems have several dialogues each.
    """
    dialogues = list(require_recipe(conversations, name))
    parts = _parts(dialogues, learned)
    return [history for one in dialogues if (part := parts.get(one.id)) for history in _histories(one, part)]


def digest_of_histories(asked: Sequence[RecordedHistory]) -> str:
    return digest_of([[one.conversation.id, one.reference, one.part] for one in asked])


async def reply_to_history(history: RecordedHistory, loop: RecipeLoop) -> ReplyResult:
    """Has the tutor reply to a history, which holds the recorded replies, not its own."""
    try:
        turn = (await loop.answer(history.conversation)).turns[-1]
    except NO_ANSWER as error:
        return ReplyResult(history=history, text="", ended=str(error))
    return ReplyResult(history=history, text=turn.tutor.text, calls=turn.calls)


def reply_figures(results: Sequence[ReplyResult], likeness: TextSimilarity | None) -> dict[str, Mapping[str, Any]]:
    """Computes the measures of all replies, and of those about seen and unseen problems."""
    texts = [one.text for one in results]
    alike: dict[str, list[float]] = {"bertscore": [], "bertscore_problem": []}
    if likeness:
        alike["bertscore"] = likeness(texts, [one.history.reference for one in results])
        alike["bertscore_problem"] = likeness(texts, [_question(one) for one in results])
    figures: dict[str, Mapping[str, Any]] = {}
    for part in PARTS:
        of = [place for place, one in enumerate(results) if part in ("all", one.history.part)]
        means = {name: _mean(scores[place] for place in of if scores) for name, scores in alike.items()}
        figures[part] = _measures([results[place] for place in of]) | means
    return figures


def _measures(results: Sequence[ReplyResult]) -> dict[str, Any]:
    texts = [one.text for one in results]
    messages = (one.history.conversation.turns[-1].student.text for one in results)
    return {
        "replies": len(results),
        "unanswered": sum(not text for text in texts),
        "bleu": bleu(texts, [one.history.reference for one in results]),
        **utterance_measures(list(zip(messages, texts, map(_question, results), strict=True))),
    }


def _question(replied: ReplyResult) -> str:
    return replied.history.conversation.problem.question


def utterance_measures(said: Sequence[tuple[str, str, str]]) -> dict[str, float | None]:
    """Averages over a tutor's utterances, each given as the student's message, the utterance and the question."""
    taken_up = [uptake(words(message), words(text)) for message, text, _ in said]
    return {
        "kf1": _mean(100 * overlap_f1(text, question) for _, text, question in said),
        "uptake": _mean(100 * share for share in taken_up if share is not None),
        "entropy": _mean(bigram_entropy(words(text)) for _, text, _ in said),
        "words": _mean(len(text.split()) for _, text, _ in said),
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


def _parts(dialogues: Sequence[Conversation], learned: Iterable[Conversation] | None) -> dict[str, str]:
    """Maps each test dialogue to whether its problem occurs in the dialogues that are learned from."""
    rest = [one for one in dialogues if not _is_test(one)] if learned is None else list(learned)
    known, others = {_problem(one) for one in rest}, {one.id for one in rest}
    return {one.id: SEEN if _problem(one) in known else UNSEEN for one in dialogues if one.id not in others}


def _is_test(conversation: Conversation) -> bool:
    aside = _TEST * _UNSEEN
    if _place(_problem(conversation)) < aside:
        return True
    return _place(_problem(conversation), conversation.id) < (_TEST - aside) / (1 - aside)


def _place(*parts: str) -> float:
    return seed("test part", *parts) / 2**64


def _problem(conversation: Conversation) -> str:
    """Identifies a problem by its question, since imported ids may clash."""
    return digest(conversation.problem.question)


def _histories(conversation: Conversation, part: str) -> Iterator[RecordedHistory]:
    for number, turn in enumerate(conversation.turns, start=1):
        if not turn.student.text.strip() or not turn.tutor.text.strip():
            continue
        so_far = deepcopy(conversation)
        del so_far.turns[number:]
        so_far.id = digest(conversation.id, number)
        for name in ("calculation", "tutor", "calls"):
            so_far.turns[-1].ClearField(name)
        yield RecordedHistory(conversation=so_far, reference=turn.tutor.text, part=part)
