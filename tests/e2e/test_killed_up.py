"""A killed `up` can be started again at once."""

from pathlib import Path

from tests.chaos.kafka.installation import free_ports
from tests.e2e.consoles import site
from tests.e2e.runs import killed_at_end
from tests.waiting import wait_until


def test_an_up_that_is_killed_during_long_calls_leaves_its_addresses_to_the_next_one(tmp_path: Path) -> None:
    ports = free_ports(2)
    with site(tmp_path, "--latency", "60s", "--http-from", str(ports.start)) as at:
        at.started(4, request_id="long", in_flight=4)

        def is_asking() -> bool:
            stages = at.call("GET", "/v1/pipeline")["stages"]
            return any(stage["service"] == "student" and int(stage["events"]) for stage in stages)

        wait_until(is_asking)
        at.process.kill()
        at.process.wait()
        with killed_at_end([str(each) for each in at.process.args]) as again:  # type: ignore[union-attr]
            assert again.stderr
            assert any("services ready" in line for line in again.stderr)
