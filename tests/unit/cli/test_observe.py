"""`soliloquy observe` looks where `soliloquy up` serves, with the rules that are shipped."""

import json
from pathlib import Path

from soliloquy.cli.observe import configuration, metrics_addresses, processes, shipped_rules
from soliloquy.runs.assignment import SERVICES
from tests.e2e.runs import SOLILOQUY, one_line, said
from tests.unit.rules.rulebook import FOLDER


def test_where_there_is_no_prometheus_it_says_what_to_install() -> None:
    result = said([SOLILOQUY, "observe"], environment={"PATH": ""})
    assert one_line(result).startswith("soliloquy: Prometheus is not installed: ")


def test_a_scale_that_up_would_not_take_is_refused() -> None:
    result = said([SOLILOQUY, "observe", "--scale", "collector=none"])
    assert result.returncode == 2
    assert "invalid scale 'collector=none'" in result.stderr


def test_every_process_has_a_place_in_the_order_of_the_ports() -> None:
    scales = dict.fromkeys(SERVICES, 1)
    names = [*processes(scales | {"student": 2}, on_kafka=True, console=None)]
    assert names[:4] == ["curriculum-0", "planner-0", "student-0", "student-1"]
    assert len(names) == len(SERVICES) + 1
    assert [*processes(scales, on_kafka=True, console="127.0.0.1:80")][len(SERVICES) :] == ["gateway"]
    alone = processes(scales, on_kafka=False, console=None)
    assert metrics_addresses(alone, 9100)["gateway"] == f"127.0.0.1:{9100 + len(alone) - 1}"


def test_a_target_has_its_name_and_the_rules_are_those_that_are_shipped() -> None:
    told = json.loads(configuration({"127.0.0.1:9100": "student-0"}, shipped_rules(), "15s"))
    [jobs] = told["scrape_configs"]
    assert jobs["job_name"] == "soliloquy"
    assert jobs["static_configs"] == [{"targets": ["127.0.0.1:9100"], "labels": {"pod": "student-0"}}]
    [rules] = told["rule_files"]
    assert sorted(FOLDER.glob("*.yaml")) == sorted(Path(rules).parent.glob(Path(rules).name))
