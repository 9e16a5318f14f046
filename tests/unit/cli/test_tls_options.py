"""The options of servers that speak TLS."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runtime.tls import ServerTls, Tls
from soliloquy_services.gateway.settings import GatewaySettings
from tests.cases import each_case
from tests.kafka.certificates import Authority, Certificate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Authority.founded(tmp_path_factory.mktemp("authority")).own


def test_a_process_is_told_the_certificates_of_both_ends(certificate: Certificate) -> None:
    own = ServerTls(certificate=certificate.certificate, key=certificate.key)
    caller = Tls(ca=certificate.certificate)
    gateway = GatewayAssignment(settings=GatewaySettings(tls=own), sandbox="a:1", sandbox_tls=caller)
    sent = Assignment(services=("executor",), transport=Path("log"), tls=own, gateway=gateway)
    told = Assignment.from_json(sent.to_json())
    assert told.gateway
    assert (told.tls, told.gateway.settings.tls, told.gateway.sandbox_tls) == (own, own, caller)


@each_case
def test_options_that_contradict_each_other_are_refused(
    certificate: Certificate, options: list[str], refused: str
) -> None:
    files = {"KEY": certificate.key, "CERT": certificate.certificate}
    given = [str(files.get(word, word)) for word in options]
    for command in (["sandbox", "serve"], ["service", "executor", "--kafka", "127.0.0.1:1", "--grpc", "127.0.0.1:0"]):
        said = CliRunner().invoke(commands, [*command, *given])
        assert said.exit_code == 2
        assert refused in said.output + str(said.exception)


def test_a_certificate_without_a_port_is_refused(certificate: Certificate) -> None:
    pair = ["--tls-cert", str(certificate.certificate), "--tls-key", str(certificate.key)]
    said = CliRunner().invoke(commands, ["service", "executor", "--kafka", "127.0.0.1:1", *pair])
    assert (said.exit_code, "--tls-cert requires --grpc" in said.output) == (2, True)
