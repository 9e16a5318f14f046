"""A gateway's chat and the executor that runs its programs, as processes that know each other by their certificates."""

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.integration.chat.support import PROBLEMS, answers
from tests.integration.meetings import Meeting, meetings_in
from tests.kafka.commands import Command, running

pytestmark = pytest.mark.thorough

ANY_PORT = ("--http", "127.0.0.1:0")
PROBLEM = PROBLEMS.bank_problem("physics", 1)


def serving(one: Meeting) -> tuple[str | Path, ...]:
    own = one.server_tls
    assert own.client_ca
    return "--tls-cert", own.certificate, "--tls-key", own.key, "--client-ca", own.client_ca


def show(one: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"CA_FILE": one.tls.ca, "CERTIFICATE_FILE": one.tls.certificate, "KEY_FILE": one.tls.key}
    for name, file in files.items():
        monkeypatch.setenv(f"SOLILOQUY_{name}", str(file or ""))


async def talked(gateway: Command) -> tuple[int, Any]:
    """Answers the tutor until it is done or fails."""
    found = re.search(r"console on (\S+?),? ", await gateway.says("gateway: ready, ") + " ")
    assert found
    messages = [{"role": "system", "content": f"Problem: {PROBLEM.question}"}]
    async with aiohttp.ClientSession(f"http://{found[1]}") as session:
        for text in await answers("soliloquy", PROBLEM):
            messages.append({"role": "user", "content": text})
            body = {"model": "soliloquy", "messages": messages}
            async with session.post("/v1/chat/completions", json=body) as response:
                status, answer = response.status, await response.json()
            if status != 200:
                break
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    return status, answer


async def test_a_chat_runs_its_programs_over_tls_and_not_without_a_certificate(
    topics: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meetings = meetings_in(tmp_path)
    grpc = ("--grpc", "127.0.0.1:0", "--sandboxes", "1")
    async with running("service", "executor", *grpc, *serving(meetings["good"]), *ANY_PORT, kafka=topics) as executor:
        ready = await executor.says("executor: ready, http on ")
        gateway = ("service", "gateway", "--listen", "127.0.0.1:0", "--sandbox", ready.rpartition("grpc on ")[2])
        show(meetings["good"], monkeypatch)
        async with running(*gateway, kafka=topics) as known:
            assert (await talked(known))[0] == 200
        show(meetings["no client certificate"], monkeypatch)
        async with running(*gateway, kafka=topics) as unknown:
            status, answer = await talked(unknown)
    assert (status, "requires a client's certificate" in str(answer)) == (503, True), answer
