"""Computes the figures of the judged dialogues: success and telling within k exchanges, by length, and style."""

from collections.abc import Mapping, Sequence
from typing import Any

from soliloquy.recipes.mathdial.evaluate.judging import MOST, OWN, SUCCESS, TELLING, JudgedDialogue, messages_of
from soliloquy.recipes.mathdial.evaluate.replies import (
    PARTS,
    ReplyResult,
    TextSimilarity,
    reply_figures,
    utterance_measures,
)
from training.evaluation.cases import parse_figures
from training.evaluation.shares import share_of

METRICS = {
    **{metric: f"Success@{k}" for k, metric in enumerate(SUCCESS, start=1)},
    **{metric: f"Telling@{k}" for k, metric in enumerate(TELLING, start=1)},
    OWN: f"reached untold within {MOST}",
}
# Entropy is in bits, words are counts, all others range from 0 to 100; `reply_*` is about recorded histories.
MEASURES = {
    "kf1": "KF1 of utterance and problem",
    "uptake": "words of the student's taken up",
    "entropy": "bigram entropy",
    "words": "words an utterance",
    "reply_bleu": "sBLEU of replies",
    "reply_bertscore": "BERTScore of replies",
    "reply_kf1": "KF1 of reply and problem",
    "reply_bertscore_problem": "BERTScore of reply and problem",
    "reply_uptake": "words of the student's taken up in replies",
}
CURVES = {"Success@k": SUCCESS, "Telling@k": TELLING}


def figures(
    results: Sequence[JudgedDialogue], replies: Sequence[ReplyResult], likeness: TextSimilarity | None
) -> dict[str, Any]:
    lengths = sorted({result.steps for result in results})
    of_replies = reply_figures(replies, likeness)
    measures = utterance_measures([spoken for result in results for spoken in _spoken(result)])
    measures |= {f"reply_{name}": value for name, value in of_replies["all"].items()}
    return {
        "metrics": _metrics(results),
        "by_steps": {
            str(steps): {"dialogues": len(alike), "metrics": _metrics(alike)}
            for steps in lengths
            if (alike := [result for result in results if result.steps == steps])
        },
        "measures": {name: measures[name] for name in MEASURES},
        "replies": {part: of_replies[part] for part in PARTS} if replies else {},
        "broken_off": sum(bool(result.ended) for result in results),
        **parse_figures([*results, *replies]),
    }


def _metrics(results: Sequence[JudgedDialogue]) -> Mapping[str, Any]:
    passed = [result.passed for result in results]
    return {name: share_of(of[name] for of in passed) for name in METRICS}


def _spoken(result: JudgedDialogue) -> list[tuple[str, str, str]]:
    """Returns each of the tutor's messages with the student's message before it, which is empty at first."""
    question, latest, found = result.conversation.problem.question, "", []
    for speaker, text in messages_of(result.conversation):
        if speaker == "tutor":
            found.append((latest, text, question))
        else:
            latest = text
    return found
