"""Does what pages say, in an environment of their own, and compares what the tutorial shows."""

import os
import re
import shutil
import signal
import subprocess
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.site.environment import environment
from deploy.site.pages import ROOT
from tests.e2e.test_readme import PAGES as OTHER_PAGES
from tests.integration.model.serving import free_port

TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
EXAMPLE = ROOT / "examples" / "recipe" / "README.md"
PAGES = [
    *TUTORIAL,
    EXAMPLE,
    *(ROOT / name for name in ("CONTRIBUTING.md", "deploy/RUNBOOK.md", "training/README.md")),
]
_BLOCK = re.compile(r"^( *)```(sh|text)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Returns the kind and the lines of each block, also of one in a list."""
    return [(kind, textwrap.dedent(body)) for _, kind, body in _BLOCK.findall(page.read_text("utf-8"))]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("environment"))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_reader_can_do_what_a_page_says_and_sees_what_the_tutorial_shows(
    page: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    blocks = blocks_of(page)
    script = "".join(body for kind, body in blocks if kind == "sh").replace(
        "127.0.0.1:8000", f"127.0.0.1:{free_port()}"
    )
    assert script
    if page == EXAMPLE:
        # It is read in its folder.
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True)
    shell = subprocess.Popen(
        ["sh", "-e", "-c", script],
        cwd=tmp_path,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=300)
    finally:
        # Ends what a failed page leaves in the background.
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, output
    printed = {" ".join(line.split()) for line in output.splitlines()}
    # On other pages a text has commands that need a cluster, a GPU or a model.
    shown_here = "".join(body for kind, body in blocks if kind == "text" and page in TUTORIAL)
    for line in shown_here.splitlines():
        shown = " ".join(line.strip(" │").split())
        assert any(shown in one for one in printed), f"{page.name} shows {line!r}\n{output}"


def test_every_page_with_commands_is_executed() -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pages = [ROOT / name for name in listed.splitlines()]
    with_commands = {page for page in pages if any(kind == "sh" for kind, _ in blocks_of(page))}
    assert with_commands
    assert with_commands <= {*PAGES, *OTHER_PAGES}
