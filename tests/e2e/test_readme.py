"""Every command of the README works, in the order a reader meets them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_readme_says_how_to_run_and_how_to_test() -> None:
    assert COMMANDS[0] == "make demo"
    assert "make test" in COMMANDS


def test_every_make_target_of_the_readme_exists() -> None:
    targets = re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text("utf-8"))
    for target in targets:
        assert shell(f"make --dry-run {target}", ROOT).returncode == 0, target


def test_every_soliloquy_command_of_the_readme_works(tmp_path: Path) -> None:
    demo = shell("make --dry-run demo", ROOT).stdout
    [grow] = [line for line in demo.splitlines() if "soliloquy generate" in line]
    commands = [grow.replace(".venv/bin/", "")]
    commands += [line for line in COMMANDS if line.startswith(("soliloquy", "echo"))]
    assert len(commands) > 5
    for command in commands:
        result = shell(command, tmp_path)
        assert result.returncode == 0, f"{command}\n{result.stderr}"


def test_every_file_the_readme_links_to_exists() -> None:
    for page in (ROOT / "README.md", ROOT / "services" / "README.md"):
        for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_help_describes_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert phony is not None
    described = shell("make help", ROOT).stdout
    assert all(f"make {target} " in described for target in phony[1].split())
