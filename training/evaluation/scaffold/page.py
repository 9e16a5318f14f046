"""The report of ScaffoldEval as a page: the six dimensions, the paper's rows beside them, and who judged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from training.evaluation.report import published, table, told, told_of
from training.evaluation.scaffold.dimensions import DIMENSIONS
from training.evaluation.scaffold.figures import TITLES, WHOSE
from training.evaluation.scaffold.putting import Judged

# Table 2 and Table 7 of the paper, without the last two where it has none.
PUBLISHED = {
    "Qwen2.5-7B-Instruct": (0.682, 0.912, 0.801, 0.818, 0.314, 0.682),
    "Qwen2.5-72B-Instruct": (0.778, 0.907, 0.736, 0.793, 0.305, 0.708),
    "DeepSeek-V3": (0.798, 0.807, 0.779, 0.689, 0.510, 0.767),
    "GPT-4o": (0.763, 0.931, 0.813, 0.782, 0.485, 0.831),
    "SocraticLM": (0.562, 0.652, 0.810, 0.682, 0.332, 0.710),
    "TutorRL-7B": (0.682, 0.953, 0.968, 0.789, 0.281, 0.714),
    "InnoSpark-turbo": (0.697, 0.742, 0.515, 0.821, 0.360, 0.625),
    "EduChat-7B": (0.488, 0.823, 0.836, 0.686, 0.218, 0.545),
    "ScaffoldLM-7B": (0.785, 0.988, 0.999, 0.830, 0.525, 0.841),
}


def page(report: Mapping[str, Any], results: Sequence[Judged]) -> Iterator[str]:
    made = report["figures"]
    yield f"# ScaffoldEval of {report['name']}"
    yield ""
    yield f"{report['cases']['put']}. Scores from 0 to 1 with 95 % intervals; by rule wherever a rule can decide,"
    yield "and what no rule can decide by a model, or not at all. The paper's were all given by a language model."
    yield ""
    rows = [[title, told_of(report, name), published(report, name), _by(made, name)] for name, title in TITLES.items()]
    yield from table(["dimension", "score", WHOSE, "judged by"], rows)
    yield ""
    yield from _student(made)
    yield ""
    rows = [[state, told(share) if share else "not measured"] for state, share in made["adaptive_by_state"].items()]
    yield from table(["adaptive feedback to", "score"], rows)
    yield ""
    rows = [[name, *(f"{score:.3f}" for score in scores)] for name, scores in PUBLISHED.items()]
    own = [told_of(report, name).partition(" (")[0] for name in DIMENSIONS]
    yield from table(["published", *DIMENSIONS.values()], [[report["name"], *own], *rows])
    yield ""
    broken = [result.dialogue for result in results if result.dialogue.broken]
    yield f"{made['rounds']:.1f} rounds a dialogue; {len(broken)} of {len(results)} cases broken off."
    yield from (f"- `{one.case.id}`: {one.broken}" for one in broken)


def _student(made: Mapping[str, Any]) -> Iterator[str]:
    rates = made["solve_rate"]
    if rates is None:
        yield "No student was asked to solve the problems before and after."
    else:
        yield f"A student solves {rates['before']:.3f} of its tries before the dialogues, {rates['after']:.3f} after."


def _by(made: Mapping[str, Any], name: str) -> str:
    counts = made["judged_by"].get(name, {})
    return ", ".join(f"{who}: {count}" for who, count in counts.items())
