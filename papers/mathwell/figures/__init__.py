"""Compares the figures of a dataset with the tables of the MATHWELL paper."""

from collections.abc import Iterator, Mapping

from soliloquy.dataset.figures import Figures, Plot
from soliloquy.dataset.statistics import Statistics
from soliloquy.runtime.files import table_beside
from soliloquy_papers.mathwell.criteria.verdicts import Criterion
from soliloquy_papers.mathwell.figures.authored import AuthoredProblems, measures

# The figures that the paper published, by model.
PUBLISHED: Mapping[str, Mapping[str, float]] = table_beside(__file__, "published.toml")
_MEASURES = {
    "ran": "functions that returned a number, %",
    "solvable": "of those, solvable, %",
    "accurate": "of the solvable, accurate, %",
    "appropriate": "of the solvable, appropriate, %",
    "all": "of those with a number, all three, %",
    "named": "problems that name their topic, %",
    "reading_grade": "Flesch-Kincaid grade",
    "dale_chall": "New Dale-Chall",
    "tokens": "tokens a question",
    "distinct_operations": "operations a problem",
    "self_similarity": "words that two questions share, %",
}


def _written(accepted: Statistics, rejected: Statistics) -> AuthoredProblems:
    """Returns the counts of all written problems, kept or not."""
    counts = (counted.own.get("mathwell", AuthoredProblems()) for counted in (accepted, rejected))
    return sum(counts, AuthoredProblems())


def _beside(accepted: Statistics, rejected: Statistics) -> list[tuple[str, str, str]]:
    written = _written(accepted, rejected)
    here, published = written.as_json(), PUBLISHED["MATHWELL"]
    return [
        (words, "not measured" if here[name] is None else f"{here[name]:g}", f"{published.get(name, '')}")
        for name, words in _MEASURES.items()
        if written.ran
    ]


def _plots(accepted: Statistics, rejected: Statistics) -> Iterator[Plot]:
    """Each bar counts part of the bar above it, except the last two, which count part of the solvable problems."""
    written = _written(accepted, rejected)
    met = {
        "returned a number": written.ran,
        **{criterion.value: written.meets[criterion] for criterion in Criterion},
        "all three": written.meets_all,
    }
    if written.written:
        yield Plot("Criteria", f"of {written.written:,} written, kept or not", met, written.written)


FIGURES = Figures(
    paper="MATHWELL",
    beside=_beside,
    note="""\
The figures count all problems written, kept or not. Here rules and models judge; the paper's judges were people with
teaching experience, and its tokens are a language model's.""",
    counts=AuthoredProblems,
    measures=measures,
    plots=_plots,
    limit="Rules and models judge whether a problem is solvable, accurate and appropriate; no person has checked it.",
)
