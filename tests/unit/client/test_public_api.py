"""The names that users import: one page lists them, they load only what they need, and pages use no others."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "soliloquy" / "README.md"
PACKAGES = ("soliloquy.client", "soliloquy.recipes", "soliloquy.gym")
NEVER = {"soliloquy_services", "soliloquy_training", "ray", "torch", "transformers"}
GRPC, ARROW = {"grpc"}, {"pyarrow"}
OURS = ("soliloquy", "soliloquy_papers", "soliloquy_services", "soliloquy_training")
PAGES = [page for page in ROOT.rglob("*.md") if not any(part[0] == "." for part in page.relative_to(ROOT).parts)]


def listed(package: str) -> list[str]:
    """The names in the first column of a package's table."""
    section = PAGE.read_text("utf-8").partition(f"## `{package}`\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def imported(example: str) -> Iterator[tuple[str, str]]:
    """Each module that an example imports from, with the name that it imports."""
    for node in ast.walk(ast.parse(example)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def loaded_by(statement: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    return set(out.stdout.split())


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_lists_exactly_what_a_package_exports(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(listed(package)) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize(
    ("statement", "unneeded"),
    [
        ("import soliloquy.client, soliloquy.recipes, soliloquy.gym", GRPC | ARROW),
        ("from soliloquy.gym import Gym, SyncGym, Observation", GRPC | ARROW),
        ("from soliloquy.client import Dataset, NoDataset, place_after", GRPC),
        ("from soliloquy.client import Runs, AsyncRuns, Tls, state_of, is_over", ARROW),
        ("from soliloquy.client import Sandbox, Job, Limits, Execution, Unserialisable", ARROW),
        ("from soliloquy.recipes import Recipe, known_recipes", GRPC | ARROW),
        ("from soliloquy.recipes import find; find('soliloquy')", ARROW),
        ("import soliloquy.dataset.exports.exporting", GRPC | {"pydantic"}),
    ],
)
def test_an_import_loads_nothing_that_it_does_not_need(statement: str, unneeded: set[str]) -> None:
    assert not loaded_by(statement) & (NEVER | unneeded)


def test_the_examples_of_the_pages_import_only_what_is_public() -> None:
    public = {package: set(listed(package)) for package in PACKAGES}
    wrong = [
        f"{page.relative_to(ROOT)} imports {name} from {module}"
        for page in PAGES
        for example in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for module, name in imported(example)
        if module.partition(".")[0] in OURS and name not in public.get(module, ())
    ]
    assert not wrong
