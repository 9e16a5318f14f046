"""Checks the compose file; `make compose-check` runs its processes."""

import re

import jsonschema
import yaml

from deploy.metrics_table import PAGE, page
from soliloquy.runs.assignment import SERVICES
from tests.compose.description import FILE, OTHERS, described, option, own
from tests.compose.schema import schema

LOOPBACK = re.compile(r"127\.0\.0\.1:\d+")


def test_the_file_is_one_that_docker_compose_reads() -> None:
    jsonschema.Draft7Validator(schema()).validate(described())


def test_every_service_runs_and_nothing_else_of_ours() -> None:
    started = {service["command"][1] for service in own().values() if service["command"][:1] == ["service"]}
    # As in the chart, the planner is for runs with --enrich.
    assert started == {*SERVICES, "gateway"} - {"planner"}


def test_whatever_listens_listens_on_this_machine_only() -> None:
    for name, service in own().items():
        for word in service["command"]:
            if word.startswith(("--http=", "--listen=", "--grpc=")):
                assert LOOPBACK.fullmatch(word.partition("=")[2]), f"{name}: {word}"
    services = described()["services"]
    listeners = services["kafka"]["environment"]["KAFKA_LISTENERS"]
    assert all(LOOPBACK.fullmatch(each.partition("://")[2]) for each in listeners.split(","))
    assert "--web.listen-address=127.0.0.1:9190" in services["prometheus"]["command"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"


def test_a_service_has_no_more_rights_than_in_a_pod() -> None:
    for name, service in own().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert ("user" in service or "cap_add" in service) == (name == "volume")


def test_images_of_others_are_held_to_a_digest() -> None:
    services = described()["services"]
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", services[name]["image"]) for name in OTHERS)


def test_prometheus_scrapes_each_service_where_it_answers() -> None:
    told = yaml.safe_load(FILE.with_name("prometheus.yaml").read_text("utf-8"))
    [job] = told["scrape_configs"]
    scraped = {each["labels"]["pod"]: each["targets"] for each in job["static_configs"]}
    assert scraped == {name: [address] for name, service in own().items() if (address := option(service, "--http"))}


def test_what_is_mounted_is_in_the_checkout() -> None:
    for service in described()["services"].values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in described()["volumes"] or (FILE.parent / source).exists(), volume
    [profile] = [word for word in own()["executor"]["security_opt"] if word.startswith("seccomp=")]
    assert (FILE.parent / profile.removeprefix("seccomp=")).exists()


def test_the_table_of_metrics_is_that_of_the_instruments() -> None:
    """`make docs` writes this page."""
    assert PAGE.read_text("utf-8") == page()
