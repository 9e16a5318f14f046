"""Does what each page of the tutorial says, in an environment of its own, and compares what the page shows."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.site.environment import environment
from deploy.site.pages import ROOT
from tests.integration.model.serving import free_port

PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("environment"))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_sees_what_the_page_of_the_tutorial_shows(
    page: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    text = page.read_text("utf-8").replace("127.0.0.1:8000", f"127.0.0.1:{free_port()}")
    blocks = _BLOCK.findall(text)
    assert blocks
    script = "".join(body for kind, body in blocks if kind == "sh")
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
    for line in "".join(body for kind, body in blocks if kind == "text").splitlines():
        shown = " ".join(line.strip(" │").split())
        assert any(shown in one for one in printed), f"{page.name} shows {line!r}\n{output}"
