"""A run whose model's endpoint is hostile ends with one line, in bounded time and memory."""

import resource
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from soliloquy.runs import progress
from tests.e2e.runs import command, said
from tests.unit.cli.test_terminal import shown_controls
from tests.unit.runtime.model.hostile import CERTIFICATES, KINDS

MOST_KILOBYTES = 1024**2
MOST_SECONDS = 90.0
# In place of the minute that a run waits for an endpoint.
PATIENCE_SECONDS = 2.0


@pytest.fixture(scope="module")
def figures() -> Iterator[list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    yield rows
    shown = table("endpoint", "seconds", "most MiB so far", "line")
    for row in rows:
        shown.add_row(*row)
    Console(width=220).print(shown)


@contextmanager
def endpoint(kind: str, folder: Path) -> Iterator[str]:
    serving = [sys.executable, "-m", "tests.unit.runtime.model.hostile", kind, str(folder)]
    with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_endpoint_ends_a_run_with_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    settings = tmp_path / "models.toml"
    with endpoint(kind, tmp_path) as url:
        if kind in CERTIFICATES:
            # Their authority is one of the system's; the workers read it, and aiohttp has done so here.
            trusted = tmp_path / "authority.pem"
            monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
            context = ssl.create_default_context(cafile=trusted)
            monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", context)
        place = f'engine = "openai"\nbase_url = "{url}"\nmodel = "large"\ntimeout = 2\n'
        settings.write_text(f"[endpoints.hostile]\n{place}", "utf-8")
        began = time.monotonic()
        ended = said(command(tmp_path / "out", conversations=2, model_settings=str(settings)))
        seconds = time.monotonic() - began
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    figures.append((kind, f"{seconds:.1f}", f"{most // 1024}", ended.stderr.strip()[:120]))
    # 2 where the run does not begin.
    assert ended.returncode in (1, 2)
    # Besides the log, which says when a busy machine had no time for a worker to end.
    assert sum(line.startswith("soliloquy: ") for line in ended.stderr.splitlines()) == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not shown_controls(ended.stderr)
    assert seconds < MOST_SECONDS
    assert most < MOST_KILOBYTES
