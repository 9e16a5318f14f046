"""A key is found where the settings say, and shown nowhere."""

from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.keys import Key, key_of
from soliloquy.runtime.model.settings import Endpoint

SECRET = "sk-very-secret"


def endpoint(**settings: Any) -> Endpoint:
    return Endpoint(engine="openai", base_url="http://127.0.0.1:1/v1", **settings)


def test_it_is_in_the_usual_variable_or_in_the_one_named_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n", "utf-8")
    assert key_of(endpoint(), "e", {"OPENAI_API_KEY": SECRET}).secret == SECRET
    assert key_of(endpoint(key_variable="MINE"), "e", {"MINE": SECRET, "OPENAI_API_KEY": "x"}).secret == SECRET
    assert key_of(endpoint(key_file=file), "e", {"OPENAI_API_KEY": "x"}).secret == SECRET


def test_an_endpoint_without_a_key_is_asked_without_one() -> None:
    assert key_of(endpoint(), "e", {}).secret == ""


def test_a_key_that_is_not_where_it_should_be_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for settings in ({"key_variable": "MINE"}, {"key_file": tmp_path / "absent"}, {"key_file": tmp_path / "empty"}):
        with pytest.raises(Failure, match=r"hosted: .*(MINE|absent|empty)"):
            key_of(endpoint(**settings), "hosted", {})


@pytest.mark.parametrize("secret", ["two words", "a\nb", "schlüssel"])
def test_what_is_no_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(Failure) as refused:
        key_of(endpoint(), "e", {"OPENAI_API_KEY": secret})
    assert secret not in str(refused.value)


def test_it_is_in_no_representation_and_taken_out_of_what_an_endpoint_says() -> None:
    key = key_of(endpoint(), "e", {"OPENAI_API_KEY": SECRET})
    assert SECRET not in f"{key} {key!r}"
    assert key.without(f"Incorrect API key: {SECRET}!".encode()) == b"Incorrect API key: [key]!"


@pytest.mark.parametrize("placeholder", ["x", "none", "EMPTY", "ollama"])
def test_a_placeholder_for_a_key_changes_no_word_of_an_answer(placeholder: str) -> None:
    answer = f"Take the {placeholder} from both sides."
    assert Key(placeholder, "OPENAI_API_KEY").without(answer.encode()) == answer.encode()
