"""A recipe that cannot be used is one line that names its package, the field and what to do, before anything runs."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.recipes import packages
from soliloquy.recipes.recipe import find
from tests.e2e.runs import SOLILOQUY, run

_RECIPE = """\
from dataclasses import replace
from pathlib import Path
from soliloquy.recipes.labels import Column
from soliloquy.recipes.scaffold.recipe import RECIPE as ONE
from soliloquy.recipes.templates import Templates
"""
_BAD = {
    "does not load": ("import nowhere_to_be_found", "stranger.recipe does not load (ModuleNotFoundError: No module"),
    "no recipe": ("RECIPE = None", "stranger.recipe has no RECIPE: set it to a Recipe"),
    "two labels of one number": (
        "from google.protobuf.descriptor_pb2 import FileDescriptorProto as F\n"
        "from google.protobuf import descriptor_pool as p\n"
        "f = F(name='stranger/labels.proto', package='stranger')\n"
        "m = f.message_type.add(name='TutorLabels')\n"
        "m.field.add(name='mood', number=1, type=5, label=1)\n"
        "m.field.add(name='tone', number=1, type=5, label=1)\n"
        "p.DescriptorPool().AddSerializedFile(f.SerializeToString())",
        "duplicate field number",
    ),
    "a column of no field": (
        "RECIPE = replace(ONE, columns={'tutor.mood': Column(title='mood')})",
        "columns: 'tutor.mood' is no field of the labels: use one of enrichment.plan",
    ),
    "two columns of one title": (
        "RECIPE = replace(ONE, columns={'turn.solved': Column(title='at'), 'turn.sub_question': Column(title='at')})",
        "columns: 'turn.solved' and 'turn.sub_question' have the same title 'at': rename one",
    ),
    "a broken prompt": (
        "RECIPE = replace(ONE, fingerprints=Templates(Path(__file__).parent / 'prompts', {'tutor': {'question'}}, "
        "recipe='strange').fingerprints)",
        "recipe strange: prompt prompts/tutor.txt: $answer is unknown; its slots are question",
    ),
}


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


def install(package: Path, name: str) -> None:
    info = package.parent / "stranger-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[soliloquy.recipes]\n{name} = stranger\n", "utf-8")


def forget() -> None:
    packages.known_recipes.cache_clear()
    packages._packages.cache_clear()
    find.cache_clear()
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


@pytest.mark.parametrize("fault", _BAD)
def test_a_bad_recipe_is_one_line_before_anything_runs(fault: str, stranger: Path, tmp_path: Path) -> None:
    code, message = _BAD[fault]
    (stranger / "recipe.py").write_text(f"{_RECIPE}{code}\n", "utf-8")
    for told in (generated(tmp_path / "out", "strange"), said("up", "--data", str(tmp_path / "data"))):
        [line] = told.splitlines()
        assert line.startswith("soliloquy: recipe strange: ")
        assert message in line
    assert not (tmp_path / "out").exists()
    assert message.partition(" (")[0] in " ".join(said("recipes", "list").split())


def test_the_name_of_another_recipe_is_one_line(stranger: Path, tmp_path: Path) -> None:
    install(stranger, "scaffold")
    forget()
    [line] = generated(tmp_path / "out", "scaffold").splitlines()
    assert line == (
        "soliloquy: the packages soliloquy.recipes.scaffold and stranger both call a recipe 'scaffold': "
        "rename or uninstall one"
    )


def test_a_recipe_that_does_not_load_leaves_the_others_alone(stranger: Path) -> None:
    (stranger / "__init__.py").write_text("raise OSError('broken')", "utf-8")
    forget()
    assert packages.part("strange", "formats") is None
    assert "soliloquy" in said("recipes", "list")


@pytest.mark.parametrize("name", ["Cap", "two words", "scaffold"])
def test_a_name_that_cannot_be_a_recipe_is_refused(name: str) -> None:
    assert run([SOLILOQUY, "recipes", "new", name]).returncode != 0
    assert not Path(name).exists()
