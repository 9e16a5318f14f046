"""Writes the table of all rules into the recipes' README, from the rules.toml of each recipe.

Run `python -m deploy.rules_table`.
"""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

_RECIPES = Path(__file__).parents[1] / "soliloquy/recipes"
PAGE = _RECIPES / "README.md"
_BEGIN, _END = "<!-- rules -->", "<!-- /rules -->"


def page() -> str:
    head, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    columns = ("recipe", "rule", "", "of", "asked of", "rests on", "does", "on a plan that was read", "shown right")
    title = f"{_row(columns)}{_row(['---'] * len(columns))}"
    return f"{head}{_BEGIN}\n{title}{''.join(_rows())}{_END}{tail}"


def _rows() -> Iterator[str]:
    for path in sorted(_RECIPES.glob("*/rules.toml")):
        for name, rule in tomllib.loads(path.read_text("utf-8")).get("rules", {}).items():
            asked = " and ".join(rule.get("by", ["nobody before the end"]))
            words = (rule["says"], rule["of"], asked, rule["rests_on"], rule["does"])
            yield _row((path.parent.name, f"`{name}`", *words, rule.get("on_read_plan", ""), rule.get("shown", "")))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
