"""Computes the figures of the judged dialogues: success and telling by length, and style, and their page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.dataset.tables import plain, table
from soliloquy_papers.mathdial.evaluate.judging import MOST, OWN, SUCCESS, TELLING, JudgedDialogue, messages_of
from soliloquy_papers.mathdial.evaluate.replies import (
    PARTS,
    ReplyResult,
    TextSimilarity,
    reply_figures,
    utterance_measures,
)
from soliloquy_papers.mathdial.published import PUBLISHED
from soliloquy_training.evaluation.cases import parse_figures, share_of
from soliloquy_training.evaluation.report import figure_rows, format_share, is_measured

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


_REPLIES = ("bleu", "bertscore", "kf1", "bertscore_problem")
# Of the dialogues of people: reached by the teachers' own word, however many exchanges it took; without those in which
# they revealed most of the answer.
_YES, _REVEALED = (PUBLISHED["resolved"][kind]["paper"] / 100 for kind in ("solved", "revealed"))
PAPER: Mapping[str, float] = {
    SUCCESS[-1]: round(_YES + _REVEALED, 2),
    OWN: _YES,
    **{name: PUBLISHED["data"][name]["paper"] for name in ("entropy", "words")},
    **{f"reply_{name}": PUBLISHED["replies"][0][name] for name in _REPLIES},
}
WHOSE = "the paper's people; replies: its Flan-T5 780M"
_COLUMNS = {
    "bleu": "sBLEU",
    "bertscore": "BERTScore",
    "kf1": "KF1",
    "bertscore_problem": "BERTScore, problem",
    "seen_bleu": "sBLEU, seen",
    "unseen_bleu": "unseen",
    "seen_kf1": "KF1, seen",
    "unseen_kf1": "unseen",
}


def page(report: Mapping[str, Any], results: Sequence[JudgedDialogue]) -> Iterator[str]:
    yield f"# MathDial evaluation of {plain(report['name'])}\n\n{plain(report['cases']['put'])}."
    measured = [name for name in MEASURES if is_measured(report, name)]
    if results:
        yield """A dialogue counts for Success@k where its student gives the
right answer within k exchanges, for Telling@k where the tutor says it within k before that; 95 % intervals
after Wilson.
Published: people's dialogues by the teachers' own word, however many exchanges they took.
"""
        measured = [*METRICS, *measured]
    yield ""
    yield table(["metric", "share of dialogues, or mean", report["whose"]], figure_rows(report, measured))
    yield f"\nAnswers that could be read at the first try: {format_share(report['figures']['read_at_first'])}."
    if results:
        yield from _by_steps(report, results)
    yield from _replies(report)
    if results:
        missed = [result for result in results if result.reached is None or result.told is not None]
        yield f"## Told or not reached: {len(missed)} of {len(results)} dialogues\n"
        yield from map(_miss, missed)


def _by_steps(report: Mapping[str, Any], results: Sequence[JudgedDialogue]) -> Iterator[str]:
    made = report["figures"]
    yield f"Dialogues broken off: {made['broken_off']} of {len(results)}.\n\n## By the steps of the problem\n"
    for title, metrics in CURVES.items():
        by_steps = made["by_steps"].items()
        rows = [[steps, str(of["dialogues"]), *shares(of["metrics"], metrics)] for steps, of in by_steps]
        head = [title.replace("k", str(k)) for k in range(1, MOST + 1)]
        yield table(["steps", "dialogues", *head], rows)
        yield ""


def shares(metrics: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Formats shares without their intervals."""
    return [f"{metrics[name]['share']:.2f}" for name in names]


def _replies(report: Mapping[str, Any]) -> Iterator[str]:
    """Writes our row and the published ones; nothing if no references were given."""
    replies = report["figures"]["replies"]
    if not replies:
        return
    counts = {part: of["replies"] for part, of in replies.items()}
    yield f"""## Replies to recorded histories

{counts["all"]} replies of {plain(report["cases"]["references"])}, {counts["seen"]} about seen problems and
{counts["unseen"]} about others; {replies["all"]["unanswered"]} histories were left without a reply.
"""
    ours = [_number(_of(replies, column)) for column in _COLUMNS]
    rows = [[row["name"], *(_number(row[column]) for column in _COLUMNS)] for row in PUBLISHED["replies"]]
    yield table(["tutor", *_COLUMNS.values()], [[report["name"], *ours], *rows])
    yield ""


def _of(replies: Mapping[str, Any], column: str) -> float | None:
    part, _, measure = column.partition("_")
    value = replies[part][measure] if part in replies else replies["all"][column]
    return None if value is None else float(value)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1f}"


def _miss(result: JudgedDialogue) -> str:
    conversation = result.conversation
    about = f"{plain(conversation.problem.source or conversation.problem.id)}, {result.steps} steps"
    told_at = f"told in exchange {result.told}" if result.told else "not told"
    reached = f"reached in exchange {result.reached}" if result.reached else "not reached"
    ended = f": {plain(result.ended)}" if result.ended else ""
    return f"- {plain(conversation.id)} ({about}): {told_at}, {reached}{ended}"
