"""Dependencies point one way: app -> handler -> recipes -> runtime and truth -> contract."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from soliloquy.recipes.labels import labels_of

ROOT = Path(__file__).parents[2]
ROOMS = LIBRARY, SERVICES, TRAINING, PAPERS = tuple(
    ROOT / name for name in ("soliloquy", "soliloquy_services", "soliloquy_training", "soliloquy_papers")
)
SERVICE_NAMES = {
    *("student", "tutor", "codegen", "composer", "planner", "curriculum", "executor", "collector", "gateway", "model")
}
# Each part of the library, and the other parts that it may import. `runs` and `cli` compose everything.
BELOW = {
    "v1": set(),
    "texts": set(),
    "programs": set(),
    "truth": {"programs", "texts"},
    "runtime": set(),
    "recipes": {"programs", "runtime", "texts", "truth"},
    "problems": {"programs", "recipes", "runtime", "texts", "truth"},
    "standin": {"problems", "programs", "recipes", "runtime", "texts", "truth"},
    "web": set(),
    "dataset": {"recipes", "runtime", "texts", "truth", "web"},
    "client": {"dataset", "recipes", "runtime", "truth"},
    "curation": {"dataset", "problems", "recipes", "runtime", "texts"},
}
COMPOSITION_ROOT = {"runs", "cli"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Returns the full names of the modules that a file imports from this project."""
    rooms = {room.name for room in ROOMS}
    return frozenset(name for name in _imported(tree(path)) if name.partition(".")[0] in rooms)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "_pb2" not in path.name)


def test_each_part_of_the_library_imports_only_what_lies_below_it() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for part, below in BELOW.items()
        for path in modules(LIBRARY / part)
        for name in sorted(imports(path))
        if name.split(".")[0] != "soliloquy" or (name + ".").split(".")[1] not in {part, "v1", *below}
    ]
    assert not wrong


def test_nothing_imports_what_the_papers_hold() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for room in (LIBRARY, SERVICES, TRAINING)
        for path in modules(room)
        for name in sorted(imports(path))
        if name.split(".")[0] == PAPERS.name
    ]
    assert not wrong


def test_a_paper_imports_no_other_paper_and_no_recipe_but_its_own() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for paper in recipes()
        for path in modules(PAPERS / paper)
        for name in sorted(imports(path))
        for other in recipes() - {paper}
        if f"{name}.".startswith((f"{PAPERS.name}.{other}.", f"soliloquy.recipes.{other}."))
    ]
    assert not wrong


@cache
def recipes() -> set[str]:
    places = (LIBRARY / "recipes", PAPERS)
    return {folder.name for place in places for folder in place.iterdir() if (folder / "prompts").is_dir()}


def outside_recipes() -> Iterator[Path]:
    """Yields the product's Python but for the folders of the recipes and papers, and the stand-in that plays them."""
    own = [*(place / name for place in (LIBRARY / "recipes", PAPERS) for name in recipes()), LIBRARY / "standin"]
    for path in (path for room in ROOMS for path in modules(room)):
        if not any(path.is_relative_to(folder) for folder in own):
            yield path


def test_nothing_outside_a_recipes_folder_imports_it() -> None:
    folders = {f"soliloquy.recipes.{name}" for name in recipes()}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in outside_recipes()
        for name in sorted(imports(path))
        if ".".join(name.split(".")[:3]) in folders
    ]
    assert not wrong


def test_nothing_outside_a_recipes_folder_names_a_recipe_or_a_field_of_its_labels() -> None:
    # The default's name is the project's, too.
    names = recipes() - {"soliloquy"}
    fields = {name for recipe in recipes() for name, _ in labels_of(recipe).fields()}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} names {node.value!r}"
        for path in outside_recipes()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in names | fields
    ]
    assert not wrong


def test_no_service_and_no_training_imports_the_composition_root() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in (SERVICES, TRAINING)
        for path in modules(folder)
        for name in sorted(imports(path))
        if name.split(".")[0] == "soliloquy" and (name + ".").split(".")[1] in COMPOSITION_ROOT
    ]
    assert not wrong


def test_the_run_engine_imports_neither_the_command_line_nor_click() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(LIBRARY / "runs")
        for name in sorted(set(_imported(tree(path))))
        if name.split(".")[0] == "click" or f"{name}.".startswith("soliloquy.cli.")
    ]
    assert not wrong


# Parts of the composition root whose modules load services and training only in the function that needs them.
LIGHT = ("cli", "gym", "runs")


def test_the_composition_root_loads_services_and_training_where_they_are_needed() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for part in LIGHT
        for path in modules(LIBRARY / part)
        for statement in tree(path).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in _imported(statement)
        if name.split(".")[0] in ("soliloquy_services", "soliloquy_training")
    ]
    assert not wrong


def test_services_holds_the_ten_services_and_none_imports_another() -> None:
    assert {path.name for path in SERVICES.iterdir() if path.is_dir() and path.name != "__pycache__"} == SERVICE_NAMES
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for service in SERVICE_NAMES
        for path in modules(SERVICES / service)
        for name in sorted(imports(path))
        if name.split(".")[0] == "soliloquy_training"
        or (name.startswith("soliloquy_services.") and name.split(".")[1] != service)
    ]
    assert not wrong


def _files_imported(tree: ast.AST, files: Iterable[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            module = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            yield inner if (inner := f"{module}.{alias.name}") in files else module


def test_no_two_files_import_each_other_even_by_way_of_others() -> None:
    paths = [path for room in ROOMS for path in modules(room)]
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    graph = {
        name: {other for other in _files_imported(tree(path), files) if other in files} for name, path in files.items()
    }
    TopologicalSorter(graph).prepare()


def test_training_depends_on_no_service() -> None:
    """The command line hands training what it needs of a service, such as the sandbox."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(TRAINING)
        for name in sorted(imports(path))
        if name.startswith("soliloquy_services.")
    ]
    assert not wrong


# The gateway answers requests instead of events.
INSTEAD_OF_A_HANDLER = {"gateway": "service.py"}


def test_every_service_has_the_same_anatomy() -> None:
    for service in SERVICE_NAMES:
        files = {path.name for path in (SERVICES / service).iterdir()}
        assert {"README.md", INSTEAD_OF_A_HANDLER.get(service, "handler.py"), "app.py"} <= files


# A forked process inherits its parent's counters and exports none of its own: nothing that has a /metrics may fork.
FORKS = {
    "soliloquy/runs/keeper.py",  # before a command counts anything
    "soliloquy_services/executor/guest/zygote.py",  # in the sandbox, where none of our metrics are
    "soliloquy_services/executor/launcher.py",  # in its self-test, where it must be refused
}


def test_no_process_that_counts_is_forked() -> None:
    ways = ("os.fork", "multiprocessing", "ProcessPoolExecutor")
    found = {
        str(path.relative_to(ROOT))
        for folder in (LIBRARY, SERVICES)
        for path in modules(folder)
        if any(way in path.read_text("utf-8") for way in ways)
    }
    assert found == FORKS


def test_the_lock_of_the_javascript_tools_names_no_registry() -> None:
    """It works with whatever registry a machine uses, and still holds every package to its digest."""
    lock = (ROOT / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert '"integrity"' in lock
