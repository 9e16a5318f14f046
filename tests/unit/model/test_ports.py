"""Promises of the ports of model services on one host."""

from collections.abc import Mapping
from contextlib import ExitStack

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.listening import listening
from soliloquy_services.model.ports import claimed_ports


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
