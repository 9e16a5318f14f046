"""Tables that compare sets of word problems with the models of the MATHWELL paper."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from soliloquy.recipes.mathwell.figures import PUBLISHED

# Short heads, so that the table fits a terminal.
VERDICTS = {
    "written": "written",
    "ran": "ran",
    "solvable": "solv.",
    "accurate": "acc.",
    "appropriate": "app.",
    "all": "all",
    "named": "topic",
    "ran and all": "ran+all",
}
MEASURES = {
    "reading_grade": "grade",
    "dale_chall": "NDC",
    "tokens": "tokens",
    "distinct_operations": "ops",
    "near_duplicates": "near",
    "self_similarity": "alike",
    "perplexity": "PPL",
    "bertscore": "BF1",
    "bertscore_references": "ref.",
}


def beside_published(found: Mapping[str, Mapping[str, Any]], heads: Mapping[str, str]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", overflow="fold")
    for head in heads.values():
        table.add_column(head, justify="right", no_wrap=True)
    for name, told in found.items():
        table.add_row(name, *(_shown(told[figure]) for figure in heads))
    table.add_section()
    for model, row in PUBLISHED.items():
        table.add_row(f"{model} (paper)", *(_shown(row.get(figure)) for figure in heads), style="dim")
    return table


def _shown(figure: Any) -> str:
    return "" if figure is None else str(figure)
