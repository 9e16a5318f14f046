"""Runs every command of the README and of the pages it links to, in the order a reader meets them."""

import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from soliloquy.cli import generate
from soliloquy.runs import dry_run
from tests.e2e.runs import alive, said, worker_pids
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in, commit

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "services").glob("*/README.md"))]
Completed = subprocess.CompletedProcess[str]


def blocks(language: str, *pages: Path) -> list[str]:
    marked = re.compile(rf"^```{language}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    return [block for page in pages for block in marked.findall(page.read_text("utf-8"))]


# A few conversations take the same ways as many.
COMMANDS = re.sub(r"--conversations [3-8]\b", "--conversations 2", "".join(blocks("sh", *PAGES))).splitlines()
# As many of the demo's as the README shows.
DEMO = ("--conversations 50", "--conversations 12")
# The commands of the gateway follow the command that starts it.
SERVED = ("soliloquy up --data", "soliloquy runs", "curl")
PROGRAMS = blocks("python", README)


def surroundings(additions: Mapping[str, str]) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **additions}


def shell(command: str, folder: Path, additions: Mapping[str, str] = MappingProxyType({})) -> Completed:
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=surroundings(additions), capture_output=True, text=True, check=False
    )


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 165


def test_every_make_target_of_the_pages_exists() -> None:
    pages = "".join(page.read_text("utf-8") for page in ROOT.glob("*.md"))
    for target in set(re.findall(r"`make ([a-z-]+)", pages)):
        assert shell(f"make --dry-run {target}", ROOT).returncode == 0, target


@pytest.mark.timeout(900)
def test_every_soliloquy_command_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A forecast from fewer conversations is the same command.
    monkeypatch.setattr(dry_run, "_COMPARED", 10)
    monkeypatch.setattr(generate, "PILOT", 3)
    kept = [numbered(0), numbered(1)]
    for one in kept:
        one.run.id = "RUN"
    commit(catalog_in(tmp_path, monkeypatch), kept)
    demo = shell("make --dry-run demo", ROOT).stdout
    [grow] = [line for line in demo.splitlines() if "soliloquy generate" in line]
    commands = [grow.replace(".venv/bin/", "").replace(*DEMO)]
    commands += [line for line in COMMANDS if line.startswith(("soliloquy", "echo")) and "--kafka" not in line]
    commands = [line for line in commands if not line.startswith(SERVED)]
    assert len(commands) > 5
    for number, command in enumerate(dict.fromkeys(commands)):
        # The two that the README begins with run as a user's shell runs them, the others in this process.
        in_shell = number < 2 or not command.startswith("soliloquy")
        result = shell(command, tmp_path, {"COLUMNS": "92"}) if in_shell else said(shlex.split(command))
        assert result.returncode == 0, f"{command}\n{result.stderr}"
        if command.startswith("soliloquy show demo-dataset"):
            assert blocks("text", README)[0] in result.stdout


def test_the_readme_on_kafka_works_in_its_order(kafka: str, tmp_path: Path) -> None:
    commands = [line.replace("127.0.0.1:9092", kafka) for line in COMMANDS if "--kafka" in line]
    [serving] = [at for at, line in enumerate(commands) if line.startswith("soliloquy up")]
    environment = {"SOLILOQUY_KAFKA_PREFIX": f"readme-{uuid.uuid4().hex[:8]}."}
    for command in commands[:serving]:
        assert shell(command, tmp_path, environment).returncode == 0, command
    up = subprocess.Popen(
        commands[serving].split(), cwd=tmp_path, env=surroundings(environment), stderr=subprocess.PIPE, text=True
    )
    try:
        assert up.stderr is not None
        assert any("8 services ready" in line for line in up.stderr)
        for command in commands[serving + 1 :]:
            result = shell(command, tmp_path, environment)
            assert result.returncode == 0, f"{command}\n{result.stderr}"
        workers = worker_pids(up.pid)
        up.send_signal(signal.SIGTERM)
        up.communicate(timeout=120)
        assert (up.returncode, len(workers), [pid for pid in workers if alive(pid)]) == (0, 8, [])
    finally:
        up.kill()
    assert (tmp_path / "from-kafka" / "manifest.json").exists()


@pytest.mark.timeout(900)
def test_the_readme_on_the_gateway_works_in_its_order(tmp_path: Path) -> None:
    port = two_ports()
    [serving, *commands] = [line.replace("8080", str(port)) for line in COMMANDS if line.startswith(SERVED)]
    [program] = [text.replace("8081", str(port + 1)) for text in PROGRAMS if "Runs(" in text]
    environment = {"SOLILOQUY_GATEWAY": f"127.0.0.1:{port + 1}"}
    up = subprocess.Popen(
        serving.split(), cwd=tmp_path, env=surroundings(environment), stderr=subprocess.PIPE, text=True
    )
    try:
        assert up.stderr is not None
        assert any("8 services ready" in line for line in up.stderr)
        for command in commands:
            result = shell(command, tmp_path, environment)
            assert result.returncode == 0, f"{command}\n{result.stderr}"
        assert json.loads(result.stdout)["request"]["problems"] == "physics"
        ended = shell(shlex.join([sys.executable, "-c", program]), tmp_path, environment)
        assert (ended.stdout.splitlines()[-1], ended.stderr) == ("finished 5 0.0", "")
        up.send_signal(signal.SIGTERM)
        up.communicate(timeout=120)
        assert up.returncode == 0
    finally:
        up.kill()


def two_ports() -> int:
    """Returns the first of two consecutive free ports, below those that the system hands to other connections."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def test_everything_a_page_links_to_exists() -> None:
    folders = ("docs", "soliloquy", "papers", "services", "protos", "deploy", "training", "benchmarks", "tests")
    for page in [*ROOT.glob("*.md"), *(page for folder in folders for page in (ROOT / folder).rglob("*.md"))]:
        for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
            file, _, heading = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), f"{page}: {link}"
            assert not heading or heading in anchors(target), f"{page}: {link}"


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
