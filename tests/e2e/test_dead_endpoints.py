"""A run that cannot go on says why and stops, and the same command goes on once the endpoint is back."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

import pytest

from soliloquy.runs import progress
from soliloquy.runtime.http_server import listening
from tests.e2e.consoles import site
from tests.e2e.hosted import answering, fake, silent
from tests.e2e.runs import SOLILOQUY, command, grown, killed_at_end, said
from tests.waiting import wait_until

REFUSED = '{"error": {"message": "no", "code": "c"}}'
GOES_ON = "stopped at 0 of 2; the same command goes on from here\n"


def told(out: Path, url: str, *, status: int) -> str:
    """The only line of a run that its endpoint keeps from its end."""
    result = said(command(out, conversations=2, model="openai", base_url=url, model_name="scripted"))
    assert result.returncode == status, result.stderr
    [line] = result.stderr.splitlines(keepends=True)
    assert line.startswith("soliloquy: openai (http"), line
    assert "model 'scripted')" in line
    return line


def stopped(out: Path, url: str) -> str:
    line = told(out, url, status=1)
    assert line.endswith(GOES_ON)
    return line


def refused(out: Path, url: str) -> str:
    """Before anything is done."""
    line = told(out, url, status=2)
    assert [*out.iterdir()] == []
    return line


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (answering(401, REFUSED), "requires a key: put it in OPENAI_API_KEY"),
        (answering(402, REFUSED), "quota exhausted"),
        (answering(404, REFUSED, ["small", "medium"]), "does not serve this model"),
        (answering(404, REFUSED, ["small", "medium"]), "it offers medium, small"),
        (answering(400, '{"error": {"message": "Model Not Exist"}}'), "does not serve this model"),
        (answering(301, ""), "serves no chat completions"),
        (answering(200, "<html><p>Welcome</p></html>", kind="text/html"), "answers with a web page"),
        (nullcontext("http://nohost.invalid/v1"), "check the host's name"),
    ],
    ids=["key", "quota", "model", "names", "unknown", "redirect", "page", "host"],
)
def test_what_a_person_has_to_fix_is_said_before_a_run_begins(
    tmp_path: Path, endpoint: AbstractContextManager[str], words: str
) -> None:
    with endpoint as url:
        assert words in refused(tmp_path, url)


def test_an_address_without_a_path_is_said_to_lack_one(tmp_path: Path) -> None:
    with answering(404, "404: Not Found") as url:
        line = refused(tmp_path, url.removesuffix("/v1"))
    assert "(404: Not Found): check the address and the model's name; the address of most such APIs ends in /v1" in line


def test_an_endpoint_without_https_is_refused(tmp_path: Path) -> None:
    with answering(200, "") as url:
        assert "check https and its certificate" in refused(tmp_path, url.replace("http:", "https:"))


def test_what_may_pass_stops_a_run_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.2)
    with answering(200, "<p>hello</p>") as url:
        line = stopped(tmp_path, url)
    assert "answered no call for 0.2 s (" in line
    assert "not a chat completion: '<p>hello</p>'" in line
    assert "--wait" in line


QUESTION = '{"question": "Seven rows of five. How many?", "solution": "Count them: there are 35."}\n'
OUT = ["--out", "out"]


def asking(command: list[str], url: str, *more: str) -> list[str]:
    """A command that asks a model for something else than a dataset."""
    return [SOLILOQUY, *command, "--model", "openai", "--base-url", url, "--model-name", "scripted", *more]


KEY = (partial(answering, 401, REFUSED), 2, "requires a key: put it in OPENAI_API_KEY")
NOBODY = (
    partial(nullcontext, "http://127.0.0.1:1/v1"), 1, "answered no call for 0.2 s (cannot connect to 127.0.0.1:1"
)  # fmt: skip


@pytest.mark.parametrize(
    ("asks", "endpoint"),
    [
        (["problems", "verify", "mine.jsonl", *OUT], NOBODY),
        (["problems", "rate", "mine.jsonl", "--tries", "2", *OUT], KEY),
        (["evaluate", "soliloquy", "--problems", "physics", "--questions", "2", *OUT], KEY),
        (["evaluate", "mathdial", "--dialogues", "1", *OUT], NOBODY),
    ],
    ids=["problems verify", "problems rate", "evaluate soliloquy", "evaluate mathdial"],
)
def test_whatever_asks_a_model_stops_and_says_why(
    asks: list[str],
    endpoint: tuple[Callable[[], AbstractContextManager[str]], int, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text(QUESTION)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.2)
    listen, status, words = endpoint
    with listen() as url:
        result = said(asking(asks, url))
    assert result.returncode == status
    assert words in result.stderr.splitlines()[-1]
    assert not Path("out").exists()


def test_whoever_waits_gets_the_answers_of_an_endpoint_that_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text(QUESTION)
    address = f"127.0.0.1:{_free_port()}"
    verify = ["problems", "verify", "mine.jsonl", *OUT, "--json"]
    with killed_at_end(asking(verify, f"http://{address}/v1", "--wait")) as verifying:
        # Nobody listens there at first.
        with pytest.raises(subprocess.TimeoutExpired):
            verifying.wait(3)
        with fake(http=address):
            told, _ = verifying.communicate()
    assert (verifying.returncode, json.loads(told)["checked"]) == (0, 1)


@pytest.mark.thorough
def test_a_server_that_accepts_calls_and_answers_nothing_stops_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 1.0)
    with silent() as url:
        assert "answered no call for 1 s (no answer within" in stopped(tmp_path, url)


@pytest.mark.thorough
def test_a_stopped_run_goes_on_once_its_endpoint_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(progress, "PATIENCE_SECONDS", 0.5)
        stopped(tmp_path, "http://127.0.0.1:1/v1")
    with fake() as url:
        assert grown(tmp_path, conversations=2, model="openai", base_url=url, model_name="scripted")["accepted"] == 2


def test_an_installation_does_not_start_with_a_model_that_its_endpoint_denies(tmp_path: Path) -> None:
    with answering(404, REFUSED, ["small", "medium"]) as url:
        model = ["--model", "openai", "--base-url", url, "--model-name", "scripted"]
        result = said([SOLILOQUY, "up", "--data", str(tmp_path / "data"), *model])
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert "model 'scripted') does not serve this model" in line
    assert "it offers medium, small" in line
    assert not (tmp_path / "data").exists()


@pytest.mark.thorough
def test_an_installation_survives_an_endpoint_that_refuses_and_goes_on_when_it_answers(tmp_path: Path) -> None:
    with ExitStack() as opened, ExitStack() as refusing:
        url = refusing.enter_context(answering(402, REFUSED))
        health = _free_port()
        model = ["--model", "openai", "--base-url", url, "--model-name", "scripted"]
        up = opened.enter_context(site(tmp_path, *model, "--http-from", str(health)))
        run_id = up.started(1, request_id="held")
        wait_until(lambda: "quota exhausted" in _readiness(health))
        wait_until(lambda: "quota exhausted" in up.call("GET", f"/v1/runs/{run_id}").get("because", ""))
        assert up.call("GET", f"/v1/runs/{run_id}")["state"] == "RUN_STATE_RUNNING"
        refusing.close()
        opened.enter_context(fake(http=url.removeprefix("http://").removesuffix("/v1")))
        wait_until(lambda: up.call("GET", f"/v1/runs/{run_id}")["state"] == "RUN_STATE_FINISHED")
        assert _readiness(health) == "ok"
        wait_until(lambda: any((tmp_path / "data").glob("*/manifest.json")))


def _readiness(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            return str(answer.read().decode()).strip()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def _free_port() -> int:
    with listening("127.0.0.1:0") as listener:
        port: int = listener.getsockname()[1]
        return port
