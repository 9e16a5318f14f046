"""A package index knows `soliloquy` as somebody else's: nobody may be told to install it."""

import re
import subprocess
import tomllib
from pathlib import Path

from soliloquy.runtime.distribution import NAME

ROOT = Path(__file__).parents[2]
_INSTALLS = re.compile(
    r"(?:(?:pip|uv) (?:install|add|download)|uvx|pipx (?:install|run))\b[^\n`|&;]*?[ '\"]soliloquy(?![\w./-])"
)


def strangers(text: str) -> list[str]:
    """Returns the commands that fetch the package of another project."""
    return [found[0] for found in _INSTALLS.finditer(text) if "--from" not in found[0]]


def test_no_package_depends_on_that_of_a_stranger() -> None:
    for file in (ROOT / "examples").rglob("pyproject.toml"):
        needed = tomllib.loads(file.read_text("utf-8"))["project"]["dependencies"]
        assert [re.split(r"[\[<>=~; ]", each)[0] for each in needed] == [NAME], file


def test_no_page_hint_or_script_installs_the_package_of_a_stranger() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name and name != str(Path(__file__).relative_to(ROOT))]
    texts = {file: file.read_text("utf-8", "ignore") for file in files if file.is_file()}
    assert {file: found for file, text in texts.items() if (found := strangers(text))} == {}
    assert strangers("pip install soliloquy") == ["pip install soliloquy"]
    assert len(strangers("uvx soliloquy demo; pip install 'soliloquy[serve]'")) == 2
    assert strangers("pip install soliloquy-tutor, uvx --from WHEEL soliloquy, pip install ./soliloquy") == []


def test_it_is_installed_under_the_name_that_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == NAME
    # `uvx NAME` runs the command of that name.
    assert project["scripts"][NAME] == project["scripts"]["soliloquy"]
