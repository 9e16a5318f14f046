"""Runs a Dockerfile's steps on top of this machine's own root."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.images.build import Builder, BuildFailed
from tests.images.dockerfile import stages

TEXT = """
FROM base AS made
WORKDIR /made
RUN echo thing > what && chmod 600 what

FROM base AS soliloquy
ENV WORD=said
RUN useradd --uid 1000 --user-group --no-create-home --home-dir /tmp soliloquy

FROM soliloquy AS workers
COPY --from=made /made /opt/made
COPY LICENSE /opt/
RUN test "$(cat /opt/made/what)" = thing && id -u soliloquy
USER 1000:1000
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0,
    reason="needs root that may mount",
)


@pytest.fixture
def built(tmp_path: Path) -> Builder:
    builder = Builder(stages=stages(TEXT), folder=tmp_path)
    builder.build("workers")
    return builder


def test_what_is_built_runs_as_a_user_on_a_root_that_nobody_can_write_to(built: Builder) -> None:
    assert built.run("workers", ["sh", "-c", "echo $WORD; id -un; touch /tmp/a && echo in /tmp"]) == (
        "said\nsoliloquy\nin /tmp\n"
    )
    with pytest.raises(BuildFailed, match="Read-only file system"):
        built.run("workers", ["touch", "/opt/a"])
    with pytest.raises(BuildFailed, match="Permission denied"):
        built.run("workers", ["cat", "/opt/made/what"])


def test_nothing_of_it_is_on_the_machine_itself(built: Builder) -> None:
    assert not Path("/opt/made").exists()
    assert built.size("workers") >= Path("LICENSE").stat().st_size


def test_a_step_that_fails_says_what_it_said(tmp_path: Path) -> None:
    builder = Builder(stages=stages("FROM base AS bad\nRUN echo so it is >&2; exit 3\n"), folder=tmp_path)
    with pytest.raises(BuildFailed, match=r"bad: .*so it is"):
        builder.build("bad")
