"""Sizes, addresses and files as people write them."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.cli.options import ADDRESS, DURATION, SIZE, real, whole
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runtime.tls import ServerTls, Tls
from soliloquy_services.gateway.settings import GatewaySettings
from tests.cases import each_case
from tests.kafka.certificates import Authority, Certificate

KINDS: dict[str, click.ParamType[Any]] = {
    **{"size": SIZE, "duration": DURATION, "address": ADDRESS},
    **{"whole": whole(1, 10), "share": real(0, 1)},
}


@each_case
def test_a_text_is_read_as_its_kind(kind: str, text: str, value: object) -> None:
    assert KINDS[kind].convert(text, None, None) == value


@each_case
def test_a_text_that_is_none_of_its_kind_is_refused_with_what_to_use(kind: str, text: str, remedy: str) -> None:
    with pytest.raises(click.BadParameter, match=remedy):
        KINDS[kind].convert(text.replace("NINES", "9" * 5_000), None, None)


@each_case
def test_a_variable_with_an_impossible_value_is_named(variable: str, value: str, complaint: str) -> None:
    result = CliRunner().invoke(commands, ["service", "curriculum", "--kafka", "k:1"], env={variable: value})
    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.parametrize("command", ["import", "dedupe", "verify", "sample", "rate", "generate"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.PARQUET", "mine.v2"])
def test_a_problem_file_is_written_only_under_a_name_by_which_it_is_read(
    tmp_path: Path, command: str, name: str
) -> None:
    out = tmp_path / name
    refused = CliRunner().invoke(commands, ["problems", command, "--out", str(out)])
    assert refused.exit_code == 2
    assert f"{out} would not be read as a problem file: use the suffix .jsonl" in refused.stderr
    out.touch()
    with pytest.raises(UnreadableSource, match="is not JSONL"):
        read_problems(out)


@pytest.mark.parametrize(
    ("command", "option"), [("model serve", "--model"), ("train", "--base"), ("evaluate soliloquy", "--weights")]
)
def test_a_file_in_place_of_a_folder_of_weights_is_told_what_is_read_and_who_serves_it(
    tmp_path: Path, command: str, option: str
) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes(b"GGUF")
    refused = CliRunner().invoke(commands, [*command.split(), option, str(half)])
    assert refused.exit_code == 2
    advice = "name the folder with config.json, tokenizer.json and *.safetensors; serve a GGUF file with llama.cpp, and"
    assert f"{half} is a file: {advice} ask that with --model openai" in refused.stderr.splitlines()[-1]


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
