"""Reports how far annotators agree, by question and by annotator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from soliloquy.annotation.agreement import (
    Estimate,
    Level,
    Table,
    cohens_kappa,
    estimate,
    fleiss_kappa,
    krippendorffs_alpha,
    observed,
)
from soliloquy.annotation.rows import Annotation, annotators, require_scheme, tables_of
from soliloquy.annotation.scheme import Question, Scheme


def agreement(annotations: Sequence[Annotation], scheme: Scheme) -> dict[str, Any]:
    """Returns the coefficients of each question, and those of each annotator against the others; raises Failure."""
    require_scheme(annotations, scheme)
    people = annotators(one for one in annotations if one.round != "adjudication")
    return {
        "scheme": scheme.name,
        "items": len({one.item for one in annotations}),
        "annotations": len(annotations),
        "annotators": {name: sum(one.annotator == name for one in annotations) for name in people},
        "questions": {
            question.name + (f".{part}" if part else ""): _of_question(question, table, people)
            for question, part, table in tables_of(annotations, scheme)
        },
    }


def level_of(question: Question) -> Level:
    return "interval" if question.kind == "scale" else "ordinal" if question.ordered else "nominal"


def _of_question(question: Question, table: Table, people: Sequence[str]) -> dict[str, Any]:
    level = level_of(question)
    return {
        "level": level,
        "observed": asdict(estimate(table, observed)),
        "fleiss_kappa": asdict(estimate(table, fleiss_kappa)),
        "krippendorff_alpha": asdict(estimate(table, partial(krippendorffs_alpha, level=level))),
        "by_label": dict(_by_label(question, table)),
        "cohen_kappa": {
            f"{people[one]}, {people[other]}": asdict(estimate(table[:, [one, other]], cohens_kappa))
            for one, other in combinations(range(len(people)), 2)
        },
        "annotators": {name: asdict(_against_others(table, place)) for place, name in enumerate(people)},
    }


def _by_label(question: Question, table: Table) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields for each label of more than two how far annotators agree that it holds."""
    names = [label.name for label in question.labels] if not question.several else []
    for number, name in enumerate(names if len(names) > 2 else ()):
        holds = np.where(np.isnan(table), np.nan, table == number)
        yield name, asdict(estimate(holds, krippendorffs_alpha))


def _against_others(table: Table, place: int) -> Estimate:
    """Returns the share of the others' annotations of the same items that an annotator agrees with."""

    def share(rows: Table) -> float:
        own, others = rows[:, [place]], np.delete(rows, place, axis=1)
        both = ~np.isnan(own) & ~np.isnan(others)
        return float((own == others)[both].mean()) if both.any() else np.nan

    return estimate(table[~np.isnan(table[:, place])], share)
