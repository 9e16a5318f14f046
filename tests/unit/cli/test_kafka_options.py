"""How a Kafka is named on the command line and in the environment, and what does not fit together."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.command import Command
from soliloquy.cli.service_options import KAFKA, REQUIRED_KAFKA
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.cases import each_case

ALICE = {"KAFKA_SECURITY": "SASL_SSL", "KAFKA_USERNAME": "alice"}


class Asked:
    """A command that takes the options, and what it was handed."""

    def __init__(self, *, required: bool = False) -> None:
        self.settings: list[KafkaSettings | None] = []

        @click.command(cls=Command)
        @click.option("--quiet", is_flag=True)
        def command(*, kafka: KafkaSettings | None = REQUIRED_KAFKA if required else KAFKA, quiet: bool) -> None:
            self.settings.append(kafka)

        self._command = command

    def run(self, *arguments: str, **environment: str) -> Result:
        variables = {f"SOLILOQUY_{name}": value for name, value in environment.items()}
        return CliRunner().invoke(self._command, list(arguments), env=variables)


def handed(*arguments: str, **environment: str) -> KafkaSettings | None:
    asked = Asked()
    result = asked.run(*arguments, **environment)
    assert result.exit_code == 0, result.output
    [settings] = asked.settings
    return settings


def refused(*arguments: str, **environment: str) -> str:
    asked = Asked()
    result = asked.run(*arguments, **environment)
    assert asked.settings == []
    if isinstance(result.exception, Failure):
        return str(result.exception)
    assert result.exit_code == 2
    return result.output.splitlines()[-1]


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("s=cr, t\n", "utf-8")
    return path


def test_a_command_that_needs_a_kafka_asks_for_it() -> None:
    result = Asked(required=True).run()
    assert result.exit_code == 2
    assert "--kafka HOST:PORT is required" in result.output


@pytest.mark.parametrize(
    ("options", "environment", "bootstrap"),
    [
        ([], {}, None),
        ([], {"KAFKA_USERNAME": "alice"}, None),
        (["--kafka", "k:9092"], {}, "k:9092"),
        (["--kafka", "a:1,[::1]:2,c.d:3"], {}, "a:1,[::1]:2,c.d:3"),
        (["--kafka", "k:1"], {"KAFKA": "other:1"}, "k:1"),
    ],
    ids=["none", "variables alone", "an address", "several brokers", "an option before a variable"],
)
def test_an_address_is_all_that_an_open_kafka_needs(
    options: list[str], environment: dict[str, str], bootstrap: str | None
) -> None:
    assert handed(*options, **environment) == (KafkaSettings(bootstrap=bootstrap) if bootstrap else None)


@pytest.mark.parametrize("text", ["k", "k:9092,", "k:9092;l:9092", "k:9092, l:9092", "kafka://k:9092", "k:0x1"])
def test_what_is_no_address_is_named(text: str) -> None:
    assert "use HOST:PORT, e.g. 127.0.0.1:9092" in refused("--kafka", text)


def test_the_environment_says_how_to_log_in(password_file: Path) -> None:
    settings = handed(
        KAFKA="k:9092",
        KAFKA_SECURITY="SASL_PLAINTEXT",
        KAFKA_MECHANISM="SCRAM-SHA-512",
        KAFKA_USERNAME="alice",
        KAFKA_PASSWORD_FILE=str(password_file),
        KAFKA_PREFIX="staging.",
        KAFKA_INSTANCE="tutor-3",
    )
    assert settings == KafkaSettings(
        bootstrap="k:9092",
        security="SASL_PLAINTEXT",
        mechanism="SCRAM-SHA-512",
        username="alice",
        password="s=cr, t",
        prefix="staging.",
        instance="tutor-3",
    )


def test_a_password_comes_from_the_environment_or_from_a_file(password_file: Path) -> None:
    by_environment = handed("--kafka", "k:1", **ALICE, KAFKA_PASSWORD="hunter2")
    by_file = handed("--kafka", "k:1", **ALICE, KAFKA_PASSWORD_FILE=str(password_file), KAFKA_PASSWORD="hunter2")
    assert by_environment is not None
    assert by_file is not None
    assert (by_environment.password, by_file.password) == ("hunter2", "s=cr, t")


def test_a_password_is_neither_an_option_nor_shown() -> None:
    assert "No such option" in refused("--kafka", "k:1", "--kafka-password", "hunter2", **ALICE)
    settings = handed("--kafka", "k:1", **ALICE, KAFKA_PASSWORD="hunter2")
    assert "alice" in repr(settings)
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("options", "environment", "complaint"),
    [
        (["--kafka-prefix", "a b"], {}, "invalid prefix 'a b'"),
        (
            [],
            {"KAFKA_SECURITY": "SSL", "KAFKA_PASSWORD": "hunter2"},
            "KAFKA_PASSWORD requires SOLILOQUY_KAFKA_SECURITY=SASL_SSL, not SSL",
        ),
    ],
)
def test_an_option_that_kafka_would_not_take_is_named(
    options: list[str], environment: dict[str, str], complaint: str
) -> None:
    assert complaint in refused("--kafka", "k:1", *options, **environment)


@each_case
def test_variables_that_do_not_fit_together_are_named(variables: dict[str, str], complaint: str) -> None:
    environment = {f"KAFKA_{name}": value.replace("THIS FILE", __file__) for name, value in variables.items()}
    assert complaint in refused("--kafka", "k:1", **environment)
