"""Which connections leave when there are too many."""

from dataclasses import replace

from soliloquy_services.gateway.access.connections import ConnectionLimits, Connections, Peer, peer_at
from tests.unit.gateway.test_access import Clock

LIMITS = ConnectionLimits(total=8, grpc=6, strangers=4, stranger_seconds=30.0)


def arriving(connections: Connections, clock: Clock, *peers: Peer) -> None:
    """Lets connections come one second after the other, the last one a second ago."""
    for number in range(len(peers)):
        connections.surplus(peers[: number + 1])
        clock.now += 1.0


def http(address: str, *ports: int) -> list[Peer]:
    return [peer_at("http", address, port) for port in ports]


def test_the_oldest_without_an_admitted_call_leaves_for_a_newcomer() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    flood = http("192.0.2.1", *range(6))
    arriving(connections, clock, *flood[:5])
    connections.admitted(flood[0])
    assert connections.surplus(flood[:5]) == {}
    assert connections.surplus(flood) == {flood[1]: "strangers"}


def test_a_flood_from_one_address_closes_no_connection_of_another() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    others, flood = [*http("192.0.2.2", 1), *http("192.0.2.3", 1)], http("192.0.2.1", *range(9))
    arriving(connections, clock, *others, *flood)
    assert connections.surplus([*others, *flood]) == dict.fromkeys(flood[:7], "strangers")


def test_a_herd_leaves_by_halves_lest_it_come_back_together() -> None:
    connections = Connections(replace(LIMITS, total=200), Clock())
    herd = http("192.0.2.1", *range(104))
    assert len(connections.surplus(herd)) == 50
    assert len(connections.surplus(herd[:44])) == 20
    assert len(connections.surplus(herd[:24])) == 16


def test_many_addresses_together_leave_room() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    flood = [peer for last in range(6) for peer in http(f"192.0.2.{last}", 1)]
    arriving(connections, clock, *flood)
    assert connections.surplus(flood) == dict.fromkeys(flood[:2], "strangers")


def test_a_flood_of_one_port_takes_nothing_from_the_other() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    flood, call = http("192.0.2.1", *range(5)), peer_at("grpc", "192.0.2.1", 1)
    arriving(connections, clock, call, *flood)
    assert connections.surplus([call, *flood]) == {flood[0]: "strangers"}


def test_callers_who_were_admitted_are_too_many_only_together_and_the_newest_leave() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    callers, stranger = http("192.0.2.1", *range(9)), http("192.0.2.2", 1)
    for caller in callers:
        connections.admitted(caller)
    arriving(connections, clock, *callers, *stranger)
    for caller in callers:
        connections.admitted(caller)
    assert connections.surplus([*callers, *stranger]) == dict.fromkeys([*stranger, callers[-1]], "total")


def test_whoever_is_not_admitted_in_time_leaves_and_whoever_was_stays() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    caller, stranger = http("192.0.2.1", 1, 2)
    arriving(connections, clock, caller, stranger)
    connections.admitted(caller)
    clock.now += 31.0
    assert connections.surplus([caller, stranger]) == {stranger: "late"}


def test_a_caller_whose_port_another_takes_over_lends_it_no_admission() -> None:
    clock = Clock()
    connections = Connections(LIMITS, clock)
    [caller] = http("192.0.2.1", 1)
    connections.admitted(caller)
    connections.surplus([caller])
    clock.now += 2.0
    connections.surplus([])
    connections.surplus([caller])
    clock.now += 31.0
    assert connections.surplus([caller]) == {caller: "late"}
