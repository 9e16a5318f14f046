"""Checks that every command in the guide, the runbook, the READMEs and Helm's notes exists."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from deploy import access_file, values_table
from soliloquy.cli.main import commands
from soliloquy.runtime.topics import DLQ
from soliloquy.runtime.transports.kafka.transport import DEAD_LETTER_TOPICS, REPLAYED
from tests.chart.render import CHART, Values, notes
from tests.unit.chart.objects import IMAGES, PREPARED, PUBLIC, REQUIRED, SERVED, TRIED, named, objects

ROOT = Path(__file__).parents[3]
PAGES = ("deploy/README.md", "deploy/RUNBOOK.md", "deploy/helm/soliloquy/README.md", "deploy/images/README.md")
OFFLINE: Values = {"apiVersionsCheck": False}
VALUES: Values = yaml.safe_load(values_table.VALUES.read_text("utf-8"))


def said(text: str) -> Iterator[str]:
    """Yields the lines of code blocks, continuations joined, and inline code."""
    for block in re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.M | re.S):
        yield from re.sub(r"\\\n\s*", "", block).splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def lines(page: str) -> list[str]:
    found = list(said((ROOT / page).read_text("utf-8")))
    assert found
    return found


def faults(line: str) -> Iterator[str]:
    """Yields the commands and options in a line that the CLI lacks."""
    for asked in re.findall(r"(?:^|-- )soliloquy ([a-z][^|#;]*)", line):
        found: click.Command = commands
        context = click.Context(commands)
        words = shlex.split(asked)
        while isinstance(found, click.Group) and words and re.fullmatch("[a-z-]+", words[0]):
            below = found.get_command(context, words.pop(0))
            if below is None:
                yield f"there is no soliloquy {asked}"
                return
            found = below
        known = {flag for option in found.params if isinstance(option, click.Option) for flag in option.opts}
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        yield from (f"{found.name} takes no {flag}" for flag in used - known - {"--help"})


def is_value(path: str) -> bool:
    """Returns whether the value exists in the chart, or in each service by way of `defaults`."""
    names = path.split(".")
    if names[0] == "services" and len(names) > 2 and names[2] != "enabled":
        assert names[1] in VALUES["services"]
        names[:2] = ["defaults"]
    place: object = VALUES
    for name in names:
        if not isinstance(place, dict) or name not in place:
            return False
        place = place[name]
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_takes_what_it_is_given(page: str) -> None:
    assert [fault for line in lines(page) for fault in faults(line)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_value_that_a_page_names_is_one_of_the_chart(page: str) -> None:
    of_chart = "|".join(VALUES)
    named_values = {
        path
        for line in lines(page)
        for path in re.findall(rf"(?:^|--set |,)((?:{of_chart})(?:\.[A-Za-z]+)+)(?:=|$|\s|:|,)", line)
    }
    files = {path for path in named_values if path.endswith((".yaml", ".lock"))}
    assert [path for path in sorted(named_values - files) if not is_value(path)] == []


def test_every_object_that_a_page_names_is_one_of_the_chart() -> None:
    found = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in objects(REQUIRED)}
    told = "\n".join(line for page in PAGES for line in lines(page))
    asked = {kind.lower() + "/" + name for kind, name in re.findall(r"\b([a-z]+)/grow(-soliloquy[a-z-]*)", told)}
    assert asked
    assert {name.replace("/", "/lab") for name in asked} <= found
    assert set(re.findall(r"\bgrow-soliloquy-([a-z]+)-0\b", told)) <= {"collector"}


def test_a_pod_that_a_page_asks_for_dead_letters_may_read_and_replay_them() -> None:
    told = "\n".join(line for page in PAGES for line in lines(page))
    asked = set(re.findall(r"exec deployment/(?:grow-soliloquy|\$NAME)-([a-z]+) -- soliloquy dlq", told))
    assert asked
    for rights in (access_file.programs()[pod] for pod in asked):
        assert set(DEAD_LETTER_TOPICS) <= set(rights["read"])
        assert {topic.removesuffix(DLQ) for topic in DEAD_LETTER_TOPICS} <= set(rights["write"])
        assert REPLAYED in rights["member"]


def test_helm_ends_with_commands_that_there_are() -> None:
    told = notes(REQUIRED, PREPARED, {"kafka": {"prefix": "a."}})
    asked = [line.strip() for line in told.splitlines() if line.startswith("  ")]
    assert {line.split()[0] for line in asked} == {"helm", "kubectl", "soliloquy"}
    assert [fault for line in asked for fault in faults(line)] == []
    profiles = named(objects(REQUIRED), "ConfigMap")["metadata"]["name"]
    assert f"get configmap {profiles} " in told
    assert "--kafka-prefix a." in told


def test_a_release_with_a_broker_of_its_own_says_what_it_is_for_and_asks_nobody_to_reach_it() -> None:
    told = notes(IMAGES, TRIED)
    assert "That Kafka is for trying out and developing: one broker" in told
    assert "--kafka" not in told
    assert "CreateContainerError" not in told
    assert [fault for line in told.splitlines() for fault in faults(line)] == []


def test_helm_warns_of_likely_mistakes() -> None:
    in_the_clear: Values = {"enabled": True, "mechanism": "PLAIN", "username": "u", "existingSecret": "s"}
    asked_by_nobody: Values = {"modelService": SERVED["modelService"], "kafka": {"sasl": in_the_clear}}
    told = notes(REQUIRED, OFFLINE, asked_by_nobody) + notes(REQUIRED, {"networkPolicy": {"enabled": False}})
    told += notes(REQUIRED, OFFLINE, {"prometheusRule": {"enabled": True}, "services": {"planner": {"enabled": False}}})
    meant: Values = {
        "networkPolicy": {"kafka": [{"ipBlock": {"cidr": "10.1.0.0/24"}}]},
        "podMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True, "runbookUrl": "https://wiki.example.com/runbook"},
    }
    well = notes(REQUIRED, OFFLINE, SERVED, PUBLIC, meant)
    for warning in (
        "may connect to any address on the brokers' ports",
        "networkPolicy.enabled is false",
        "Kafka's password crosses the network in the clear",
        "no service uses this release's model service",
        "The scripted stand-in plays every role",
        "There is no planner",
        "It is not monitored",
        "Alerts link to no runbook",
        "it requires no token, until you set gateway.tokens.existingSecret",
    ):
        assert warning in told
        assert warning not in well


def test_the_chart_has_no_page_that_is_not_looked_at() -> None:
    assert {f"deploy/helm/soliloquy/{path.name}" for path in CHART.glob("*.md")} <= set(PAGES)
