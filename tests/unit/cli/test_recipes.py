"""A recipe that cannot be used is one line that names its package, the field and what to do, before anything runs."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.cli.recipes import write_package
from soliloquy.recipes import packages
from soliloquy.recipes.labels import columns_of, labels_of
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runtime import extensions
from tests.cases import each_case
from tests.e2e.runs import SOLILOQUY, run

_IMPORTS = """\
from dataclasses import replace
from pathlib import Path
from soliloquy.recipes.labels import Column
from soliloquy.recipes.scaffold.recipe import RECIPE as ONE
from soliloquy.recipes.templates import Templates
"""
_LABELS = """\
syntax = "proto3";
package stranger;
enum Kind { KIND_UNSPECIFIED = 0; KIND_OTHER = 1; }
message TutorLabels {
  message Plan { int32 step = 1; /* int32 old = 1; */ }
  Plan plan = 3;
  oneof said { Kind mood = 1; int32 sure = 2; }
  string tone = 1;  // how = 3;
}
"""
# As protoc compiles them where it is not asked to check them.
_COMPILED = """\
from google.protobuf.descriptor_pb2 import FileDescriptorProto as F
from google.protobuf import descriptor_pool
f = F(name="stranger/labels.proto", package="stranger")
m = f.message_type.add(name="TutorLabels")
m.field.add(name="mood", number=1, type=5, label=1)
m.field.add(name="tone", number=1, type=5, label=1)
descriptor_pool.DescriptorPool().AddSerializedFile(f.SerializeToString())
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a recipe `strange`, installed for this test."""
    package = tmp_path / "site" / "stranger"
    (package / "prompts").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "prompts" / "tutor.txt").write_text("[user]\nTell $answer", "utf-8")
    install(package, "strange")
    monkeypatch.syspath_prepend(package.parent)
    forget()
    yield package
    monkeypatch.undo()
    forget()


def install(package: Path, name: str, *others: str, group: str = "recipes") -> None:
    for one in ("stranger", *others):
        info = package.parent / f"{one}-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {one}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[soliloquy.{group}]\n{name} = {one}\n", "utf-8")


def forget() -> None:
    vars(packages.RECIPES).pop("claims", None)
    for cached in (extensions.installed_entry_points, find, labels_of, columns_of):
        cached.cache_clear()
    sys.modules.pop("soliloquy.cli.generate", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def said(*arguments: str) -> str:
    done = CliRunner().invoke(commands, arguments, standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


def generated(out: Path, recipe: str) -> str:
    return said("generate", "--recipe", recipe, "--problems", "physics", "--conversations", "1", "--out", str(out))


@each_case
def test_a_bad_recipe_is_one_line_before_anything_runs(code: str, message: str, stranger: Path, tmp_path: Path) -> None:
    if code.startswith("COLUMNS"):
        (stranger / "columns.py").write_text(f"{_IMPORTS}{code}\n", "utf-8")
        (stranger / "labels_pb2.py").write_text("from soliloquy.recipes.scaffold.labels_pb2 import *\n", "utf-8")
        code = "RECIPE = ONE"
    (stranger / "recipe.py").write_text(f"{_IMPORTS}{code}\n", "utf-8")
    if "labels_pb2" in code:
        (stranger / "labels.proto").write_text(_LABELS, "utf-8")
        (stranger / "labels_pb2.py").write_text(_COMPILED, "utf-8")
    starts = (
        generated(tmp_path / "out", "strange"),
        said("up", "--data", str(tmp_path / "data")),
        said("service", "tutor", "--kafka", "127.0.0.1:1"),
        said("service", "gateway", "--kafka", "127.0.0.1:1", "--listen", "127.0.0.1:0"),
    )
    for told in starts:
        [line] = told.splitlines()
        assert line.startswith("soliloquy: recipe strange: ")
        assert message in line
    assert not (tmp_path / "out").exists()
    assert message.partition(" (")[0] in " ".join(said("recipes", "list").split())


@pytest.mark.parametrize(
    ("name", "ours"), [("scaffold", "soliloquy.recipes.scaffold"), ("mathwell", "soliloquy_papers.mathwell")]
)
def test_a_package_with_the_name_of_our_recipe_is_named_and_ours_is_used(
    name: str, ours: str, stranger: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install(stranger, name)
    forget()
    assert find(name).title
    assert known_recipes()[name] == ours
    assert caplog.messages == [
        f"recipe {name}: stranger is not used, because {ours} has that name: rename or uninstall it"
    ]


def test_a_package_adds_parts_to_a_recipe_that_has_its_own_first(stranger: Path) -> None:
    install(stranger, "scaffold", group="recipe_parts")
    for part in ("grading.py", "rules.py"):
        (stranger / part).write_text("PASSED = True\n", "utf-8")
    forget()
    assert packages.load("scaffold", "grading:PASSED", bool)
    assert packages.module("scaffold", "rules") == "soliloquy.recipes.scaffold.rules"
    assert packages.module("scaffold", "evaluate.command") == "soliloquy_papers.scaffold.evaluate.command"
    assert not packages.has_part("mathdial", "grading")


def test_two_packages_with_a_recipe_of_one_name_are_one_line_and_leave_the_others_alone(
    stranger: Path, tmp_path: Path
) -> None:
    install(stranger, "strange", "strange_too")
    forget()
    [line] = generated(tmp_path / "out", "strange").splitlines()
    assert line == ("soliloquy: recipe strange: strange_too and stranger both have that name: rename or uninstall one")
    assert find("scaffold").title
    assert "mathdial" in said("recipes", "list")


def test_a_recipe_that_does_not_load_leaves_the_others_alone(stranger: Path) -> None:
    (stranger / "__init__.py").write_text("raise OSError('broken')", "utf-8")
    forget()
    assert packages.part("strange", "formats") is None
    assert "soliloquy" in said("recipes", "list")


@pytest.mark.parametrize(("name", "package"), [("loops", "loops_recipe"), ("my_recipe", "my_recipe")])
def test_a_new_recipe_names_its_package_once(name: str, package: str, tmp_path: Path) -> None:
    assert write_package(name, tmp_path / name).name == package
    assert f'{name} = "{package}"' in (tmp_path / name / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("name", ["Cap", "two words", "scaffold"])
def test_a_name_that_cannot_be_a_recipe_is_refused(name: str) -> None:
    assert run([SOLILOQUY, "recipes", "new", name]).returncode != 0
    assert not Path(name).exists()
