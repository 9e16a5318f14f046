"""The file of tokens, which an operator writes and changes while the gateway runs."""

import logging
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_services.gateway.access.tokens import CHECK_SECONDS, TokenFile
from tests.unit.gateway.tokens import OPERATOR, READER, entry, written


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_token_is_known_by_its_digest_alone(tmp_path: Path) -> None:
    tokens = TokenFile(written(tmp_path))
    found = tokens.with_token(OPERATOR)
    assert found is not None
    assert (found.name, found.role) == ("olga", "operator")
    assert tokens.with_token(found.sha256) is None
    assert tokens.with_token("") is None


def test_a_name_without_a_digest_is_for_a_certificate_only(tmp_path: Path) -> None:
    tokens = TokenFile(written(tmp_path, entry("worker-7", "operator")))
    named = tokens.with_name("worker-7")
    assert named is not None
    assert named.role == "operator"
    # Nothing that can be typed has an empty digest.
    assert tokens.with_token("") is None


def test_a_token_that_is_taken_out_of_the_file_is_refused_without_a_restart(tmp_path: Path) -> None:
    clock, file = Clock(), written(tmp_path)
    tokens = TokenFile(file, clock)
    assert tokens.with_token(READER)
    written(tmp_path, entry("olga", "operator", OPERATOR))
    clock.now += CHECK_SECONDS
    assert tokens.with_token(READER) is None
    assert tokens.with_token(OPERATOR)


def test_an_entry_admits_nobody_once_it_has_expired(tmp_path: Path) -> None:
    past, future = (f"{entry('olga', 'operator', OPERATOR)}expires = {year}-01-31T00:00:00Z\n" for year in (2020, 9020))
    assert TokenFile(written(tmp_path, future)).with_token(OPERATOR)
    expired = TokenFile(written(tmp_path, past))
    assert expired.with_token(OPERATOR) is None
    assert expired.with_name("olga") is None


@pytest.mark.parametrize("value", ["2030-01-31T00:00:00", "2030-01-31", '"soon"'])
def test_an_expiry_without_its_zone_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(Failure, match="token 1: invalid expires: use a time with its zone"):
        TokenFile(written(tmp_path, f"{entry('olga', 'operator', OPERATOR)}expires = {value}\n"))


def test_a_file_that_is_broken_meanwhile_locks_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock, file = Clock(), written(tmp_path)
    tokens = TokenFile(file, clock)
    file.write_text("[[token]\n", "utf-8")
    clock.now += CHECK_SECONDS
    with caplog.at_level(logging.ERROR, "soliloquy_services.gateway"):
        assert tokens.with_token(READER)
        clock.now += CHECK_SECONDS
        assert tokens.with_token(READER)
    [told] = caplog.messages
    assert "cannot be read" in told
    assert "the previous tokens stay in force" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no [[token]]"),
        ("token = [", "cannot be read (Invalid value"),
        ("tokens = []\n", "unknown entry 'tokens'"),
        (entry("rita", "admin", READER), "token 1: invalid role: use reader or operator"),
        (entry("rita", "reader", READER) + entry("rita", "operator", OPERATOR), "two tokens are named 'rita'"),
        (entry("rita", "reader", READER) + entry("olga", "operator", READER), "two entries have the same sha256"),
        (entry("", "reader", READER), "token 1: invalid name"),
        (entry("rita", "reader") + 'sha256 = "the-secret-itself"\n', "token 1: invalid sha256"),
        (entry("rita", "reader") + 'token = "the-secret-itself"\n', "token 1: unknown field 'token'"),
        ('token = "the-secret-itself"\n', "the tokens is not a table"),
    ],
)
def test_a_broken_file_is_refused_with_one_line_that_gives_no_secret_away(tmp_path: Path, text: str, told: str) -> None:
    file = written(tmp_path, text or "\n")
    with pytest.raises(Failure) as refused:
        TokenFile(file)
    assert str(refused.value).startswith(str(file))
    assert told in str(refused.value)
    assert "the-secret-itself" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"none\.toml cannot be read"):
        TokenFile(tmp_path / "none.toml")
