"""Computes the figures of the judged cases: six dimensions, what the student gained, and their page."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.dataset.tables import plain, table
from soliloquy.runtime.files import table_beside
from soliloquy_papers.scaffold.evaluate.dialogues import SEGMENT
from soliloquy_papers.scaffold.evaluate.dimensions import DIMENSIONS, Score
from soliloquy_papers.scaffold.evaluate.evaluator import ScoredDialogue, SolveGain
from soliloquy_training.evaluation.cases import Share, parse_figures, share_of, share_of_scores
from soliloquy_training.evaluation.report import figure_rows, format_figure, format_share

LEAKED, GAINED = "leaked", "delta_solve_rate"
ENDED = "ended"
TITLES = {
    **DIMENSIONS,
    LEAKED: "leaked solutions",
    GAINED: "delta solve rate",
    ENDED: "dialogues that the tutor ends",
}
PUBLISHED: Mapping[str, Mapping[str, float]] = table_beside(__file__, "published.toml")
PAPER = PUBLISHED["ScaffoldLM-7B"]
WHOSE = "the paper's ScaffoldLM-7B"


def figures(results: Sequence[ScoredDialogue]) -> dict[str, Any]:
    scores = [one for result in results for one in result.scores]
    by_dimension = {name: [one for one in scores if one.dimension == name] for name in DIMENSIONS}
    metrics = {name: share for name, given in by_dimension.items() if (share := _share(given)) is not None}
    gained = [result.gained for result in results if result.gained]
    if gained:
        metrics[LEAKED] = share_of(one.leaked for one in gained)
    dialogues = [result.dialogue for result in results if result.dialogue.case.kind != SEGMENT]
    metrics[ENDED] = share_of(dialogue.ended for dialogue in dialogues)
    rates = _solve_rates(gained)
    return {
        "metrics": metrics,
        "measures": {
            **{name: None for name in [*DIMENSIONS, LEAKED] if name not in metrics},
            GAINED: rates["after"] - rates["before"] if rates else None,
        },
        "solve_rate": rates,
        "adaptive_by_state": _by_state(results),
        "judged_by": {name: dict(Counter(one.by for one in given)) for name, given in by_dimension.items()},
        "rounds": sum(len(dialogue.rounds) for dialogue in dialogues) / max(len(dialogues), 1),
        "broken": sum(bool(result.dialogue.broken) for result in results),
        **parse_figures(results),
    }


def _share(scores: Sequence[Score]) -> Share | None:
    """Returns None if nobody judged some of it: the rest would be another figure."""
    given = [one.score for one in scores if one.score is not None]
    return share_of_scores(given) if given and len(given) == len(scores) else None


def _by_state(results: Sequence[ScoredDialogue]) -> dict[str, Any]:
    by_state: defaultdict[str, list[Score]] = defaultdict(list)
    for result in results:
        if result.dialogue.case.kind == SEGMENT:
            [state] = result.dialogue.case.states
            by_state[state] += result.scores
    return {state: _share(scores) for state, scores in by_state.items()}


def _solve_rates(gained: Sequence[SolveGain]) -> dict[str, float] | None:
    tries = sum(one.tries for one in gained)
    if not tries:
        return None
    return {"before": sum(one.before for one in gained) / tries, "after": sum(one.after for one in gained) / tries}


def page(report: Mapping[str, Any], results: Sequence[ScoredDialogue]) -> Iterator[str]:
    made = report["figures"]
    yield f"""# ScaffoldEval of {plain(report["name"])}

{plain(report["cases"]["put"])}. Scores from 0 to 1 with 95 % intervals; by rule wherever a rule can decide,
and what no rule can decide by a model, or not at all. The paper's were all given by a language model.
"""
    judges = {
        name: ", ".join(f"{who}: {count}" for who, count in counts.items())
        for name, counts in made["judged_by"].items()
    }
    rows = [[*row, judges.get(name, "")] for name, row in zip(TITLES, figure_rows(report, TITLES), strict=True)]
    yield table(["dimension", "score", WHOSE, "judged by"], rows)
    rates = made["solve_rate"]
    if rates is None:
        yield "\nNo student was asked to solve the problems before and after.\n"
    else:
        told = f"{rates['before']:.3f} of its tries before the dialogues, {rates['after']:.3f} after."
        yield f"\nA student solves {told}\n"
    by_state = made["adaptive_by_state"].items()
    rows = [[state, format_share(share) if share else "not measured"] for state, share in by_state]
    yield table(["adaptive feedback to", "score"], rows)
    yield ""
    rows = [[name, *(f"{scores[one]:.3f}" for one in DIMENSIONS)] for name, scores in PUBLISHED.items()]
    own = [format_figure(report, name).partition(" (")[0] for name in DIMENSIONS]
    yield table(["published", *DIMENSIONS.values()], [[report["name"], *own], *rows])
    broken = [result.dialogue for result in results if result.dialogue.broken]
    yield f"\n{made['rounds']:.1f} rounds a dialogue; {len(broken)} of {len(results)} cases broken off."
    yield from (f"- {plain(one.case.id)}: {plain(one.broken)}" for one in broken)
