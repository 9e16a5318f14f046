"""Writes the report of ScaffoldEval: the six dimensions, the paper's rows, and who judged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.recipes.scaffold.evaluate.dimensions import DIMENSIONS
from soliloquy.recipes.scaffold.evaluate.evaluator import ScoredDialogue
from soliloquy.recipes.scaffold.evaluate.figures import PUBLISHED, TITLES, WHOSE
from training.evaluation.report import figure_rows, format_figure, format_share, table


def page(report: Mapping[str, Any], results: Sequence[ScoredDialogue]) -> Iterator[str]:
    made = report["figures"]
    yield f"""# ScaffoldEval of {report["name"]}

{report["cases"]["put"]}. Scores from 0 to 1 with 95 % intervals; by rule wherever a rule can decide,
and what no rule can decide by a model, or not at all. The paper's were all given by a language model.
"""
    rows = [[*row, _by(made, name)] for name, row in zip(TITLES, figure_rows(report, TITLES), strict=True)]
    yield from table(["dimension", "score", WHOSE, "judged by"], rows)
    yield f"\n{_student(made)}\n"
    by_state = made["adaptive_by_state"].items()
    rows = [[state, format_share(share) if share else "not measured"] for state, share in by_state]
    yield from table(["adaptive feedback to", "score"], rows)
    yield ""
    rows = [[name, *(f"{scores[one]:.3f}" for one in DIMENSIONS)] for name, scores in PUBLISHED.items()]
    own = [format_figure(report, name).partition(" (")[0] for name in DIMENSIONS]
    yield from table(["published", *DIMENSIONS.values()], [[report["name"], *own], *rows])
    broken = [result.dialogue for result in results if result.dialogue.broken]
    yield f"\n{made['rounds']:.1f} rounds a dialogue; {len(broken)} of {len(results)} cases broken off."
    yield from (f"- `{one.case.id}`: {one.broken}" for one in broken)


def _student(made: Mapping[str, Any]) -> str:
    rates = made["solve_rate"]
    if rates is None:
        return "No student was asked to solve the problems before and after."
    return f"A student solves {rates['before']:.3f} of its tries before the dialogues, {rates['after']:.3f} after."


def _by(made: Mapping[str, Any], name: str) -> str:
    counts = made["judged_by"].get(name, {})
    return ", ".join(f"{who}: {count}" for who, count in counts.items())
