"""Checks that Prometheus accepts the rules, their metrics exist, and every alert fires, clears and says what to do."""

import functools
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from soliloquy.cli.main import commands
from soliloquy.runtime.metrics import schema
from tests.unit.rules.rulebook import FILES, FOLDER, ROOT, alerts, content, named, rules

RUNBOOK = ROOT / "deploy" / "RUNBOOK.md"
CASES = sorted(Path(__file__).parent.glob("*.yaml"))
# Labels that Prometheus or service discovery adds to every series.
OF_TARGETS = {"job", "instance", "cluster", "namespace", "release", "pod"}
HISTOGRAM = {"_bucket": {"le"}, "_sum": set[str](), "_count": set[str]()}


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        complaint = "promtool is missing: apt-get install prometheus"
        pytest.fail(complaint) if os.environ.get("CI") else pytest.skip(complaint)
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=100)


@functools.cache
def exported() -> dict[str | None, set[str]]:
    """Returns every metric that a rule may read, with its labels."""
    known: dict[str | None, set[str]] = {}
    for metric in schema().values():
        suffixes = HISTOGRAM if metric.type == "histogram" else {"": set[str]()}
        known |= {metric.name + suffix: {*metric.labels, *more} for suffix, more in suffixes.items()}
    others = tomllib.loads(Path(__file__).with_name("foreign.toml").read_text("utf-8"))
    return known | {name: set(labels) for group in others.values() for name, labels in group.items()}


def test_prometheus_takes_the_rules() -> None:
    checked = promtool("check", "rules", *FILES)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.count("SUCCESS") == len(FILES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rules_find_what_they_should(case: Path) -> None:
    tested = promtool("test", "rules", case)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_file_of_rules_has_a_file_of_tests() -> None:
    assert [case.name for case in CASES] == [file.name for file in FILES]
    for case in CASES:
        [tested] = content(case)["rule_files"]
        assert (case.parent / tested).resolve() == FOLDER / case.name


def expectations(alert: str) -> Iterator[bool]:
    """Returns whether an alert fires at each time of the case that has data."""
    for case in CASES:
        for group in content(case)["tests"]:
            for look in group["promql_expr_test"]:
                if f'alertname="{alert}"' in look["expr"] and 'alertstate="firing"' in look["expr"]:
                    assert group["input_series"]
                    yield bool(look["exp_samples"])


@pytest.mark.parametrize("alert", alerts())
def test_every_alert_is_seen_firing_and_quiet(alert: str) -> None:
    assert set(expectations(alert)) == {True, False}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_an_expression_reads_what_is_exported_by_labels_that_it_has(rule: dict[str, Any]) -> None:
    known = exported()
    recorded = {other["record"] for other in rules() if "record" in other}
    selected = list(named(rule["expr"]))
    assert selected or rule["record"] == "soliloquy:slo_target:ratio"
    for one in selected:
        assert one.metric in known.keys() | recorded, f"nobody exports {one.metric}"
        if one.metric in known:
            assert one.labels <= known[one.metric] | OF_TARGETS, f"{one.metric} has no label {one.labels}"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_keeps_apart_what_is_in_different_clusters_and_namespaces(rule: dict[str, Any]) -> None:
    """Targets of objectives are the same everywhere, and what has no aggregation keeps all labels."""
    for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule["expr"]):
        assert {"cluster", "namespace"} <= {*labels.split(", ")} or labels == "slo"
    assert "without (" not in rule["expr"]


def sections() -> dict[str, str]:
    """Returns the runbook's sections by anchor."""
    parts = re.split(r"^## (.+)$", RUNBOOK.read_text("utf-8"), flags=re.M)
    return {
        re.sub(r"[^a-z0-9-]", "", title.lower().replace(" ", "-")): text
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }


@pytest.mark.parametrize("alert", alerts())
def test_every_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(alert: str) -> None:
    rule = alerts()[alert]
    assert alert.startswith("Soliloquy")
    assert rule["labels"]["severity"] in ("critical", "warning")
    told = rule["annotations"]
    assert told.keys() == {"summary", "description", "runbook_url"}
    file, _, anchor = told["runbook_url"].partition("#")
    assert ROOT / file == RUNBOOK
    section = sections()[anchor]
    assert f"`{alert}`" in section
    for part in ("**What it means.**", "**Look.**", "**Do.**"):
        assert part in section, f"{anchor} has no {part}"


def test_every_section_of_the_runbook_is_of_an_alert() -> None:
    of_alerts = {rule["annotations"]["runbook_url"].partition("#")[2] for rule in alerts().values()}
    assert sections().keys() == of_alerts


def test_the_runbook_names_commands_that_there_are() -> None:
    lines = re.findall(r"\bsoliloquy ([a-z][a-z -]*)", RUNBOOK.read_text("utf-8"))
    assert lines
    for words in lines:
        command: click.Command = commands
        context = click.Context(command)
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            found = command.get_command(context, word)
            assert found, f"there is no soliloquy {words}"
            command = found
