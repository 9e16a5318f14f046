"""Dependencies point one way: app -> handler -> recipes -> runtime and truth -> protos."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = ROOT / "services"
TRAINING = ROOT / "training"
# The command line puts services together; it is the one place that may know several.
COMPOSES = {"cli"}
MODULES = sorted(path for path in SERVICES.rglob("*.py") if path.name != "__init__.py")


def imported(path: Path) -> Iterator[str]:
    """The folders of services/ that a module imports from, and "training"."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1] for name in names if name.startswith("services."))
        yield from ("training" for name in names if name.split(".")[0] == "training")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SERVICES)))
def test_a_module_depends_only_on_what_lies_below_it(path: Path) -> None:
    own = path.relative_to(SERVICES).parts[0]
    below = {
        "runtime": {"runtime"},
        "truth": {"truth"},
        "dataset": {"dataset", "runtime", "truth", "recipes"},
        "client": {"client", "dataset", "runtime", "recipes", "truth"},
        "recipes": {"recipes", "runtime", "truth"},
    }.get(own, {own, "runtime", "truth", "recipes", "dataset"})
    if own not in COMPOSES:
        assert set(imported(path)) <= below


@pytest.mark.parametrize("path", sorted(TRAINING.rglob("*.py")), ids=lambda path: str(path.relative_to(TRAINING)))
def test_training_depends_on_no_service(path: Path) -> None:
    """What it takes of them, such as the sandbox, the command line hands to it."""
    assert set(imported(path)) <= {"training", "client", "dataset", "runtime", "recipes", "truth"}


# What it does where no event is handed to it.
INSTEAD_OF_A_HANDLER = {"gateway": "service.py"}


@pytest.mark.parametrize(
    "service", sorted(folder.parent.name for folder in SERVICES.glob("*/app.py")), ids=lambda name: str(name)
)
def test_every_service_has_the_same_anatomy(service: str) -> None:
    files = {path.name for path in (SERVICES / service).iterdir()}
    assert {"README.md", INSTEAD_OF_A_HANDLER.get(service, "handler.py"), "app.py", "settings.py"} <= files


# A copy of a process counts what nobody is told: these copy none that has a /metrics.
FORKS = {
    "curriculum/bank/sampling.py",  # a command that draws problems, and ends
    "executor/guest/zygote.py",  # in the sandbox, where none of our metrics are
    "executor/selftest.py",  # where it must be refused
}


def test_no_process_that_counts_is_forked() -> None:
    ways = ("os.fork", "multiprocessing", "ProcessPoolExecutor")
    found = {str(path.relative_to(SERVICES)) for path in MODULES if any(way in path.read_text("utf-8") for way in ways)}
    assert found == FORKS
