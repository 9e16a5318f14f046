"""One file says which model answers a role; what is wrong in it is named, with what is allowed."""

from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings import Models, read_models, shipped_models

HOSTED = '[endpoints.hosted]\nengine = "openai"\nbase_url = "https://api.example.com/v1"\n'
TUNED = '[endpoints.tuned]\nengine = "ray"\naddress = "127.0.0.1:9000"\n'


def read(folder: Path, text: str) -> Models:
    file = folder / "models.toml"
    file.write_text(text, "utf-8")
    return read_models(file)


def test_without_a_file_every_role_is_played_by_the_scripted_model() -> None:
    models = shipped_models()
    assert {models.endpoint_of(role).engine for role in models.roles} == {"scripted"}
    assert {"student", "tutor", "codegen", "composer"} <= set(models.roles)
    assert models.identity() == {"model": "scripted"}


def test_a_file_needs_only_what_differs(tmp_path: Path) -> None:
    models = read(tmp_path, HOSTED + "[roles.student]\ntemperature = 1.1\n")
    shipped = shipped_models().roles
    assert models.roles["student"].temperature == 1.1
    assert models.roles["student"].max_tokens == shipped["student"].max_tokens
    assert models.roles["tutor"].temperature == shipped["tutor"].temperature
    assert {role.endpoint for role in models.roles.values()} == {"hosted"}


def test_roles_may_be_answered_in_different_places(tmp_path: Path) -> None:
    models = read(
        tmp_path, f'endpoint = "hosted"\n{HOSTED}{TUNED}[roles.composer]\nendpoint = "tuned"\nadapter = "tutor-1"\n'
    )
    assert models.endpoint_of("composer").address == "127.0.0.1:9000"
    assert models.endpoint_of("student").engine == "openai"
    assert set(models.used) == {"hosted", "tuned"}
    assert models.identity()["roles"]["composer"]["adapter"] == "tutor-1"


def test_a_run_is_the_same_wherever_its_endpoint_is_and_whatever_it_costs(tmp_path: Path) -> None:
    here = read(tmp_path, HOSTED)
    there = read(tmp_path, HOSTED.replace("api.", "eu.") + "prompt_price = 3.0\ntimeout = 5\n")
    assert here.identity() == there.identity()
    assert here.identity() != read(tmp_path, HOSTED + 'model = "large"\n').identity()
    assert here.identity() != read(tmp_path, HOSTED + "[roles.tutor]\ntop_p = 0.5\n").identity()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[roles.tutur]\n", ["'tutur'", "composer", "tutor"]),
        ("[roles.tutor]\nheat = 1\n", ["roles.tutor", "'heat'", "temperature"]),
        ("[roles.tutor]\ntemperature = 7\n", ["roles.tutor.temperature", "7", "less than or equal to 2"]),
        ("[roles.tutor]\nmax_tokens = 'many'\n", ["roles.tutor.max_tokens", "'many'"]),
        ("[roles.tutor]\nendpoint = 'x'\n", ["roles.tutor", "'x'", "scripted"]),
        ("[roles.tutor]\nadapter = 'x'\n", ["roles.tutor", "cannot use an adapter ('x')"]),
        ("[endpoints.a]\nengine = 'gpt'\n", ["endpoints.a", "'gpt'", "scripted, openai, ray"]),
        ("[endpoints.a]\n", ["endpoints.a", "None", "scripted, openai, ray"]),
        (HOSTED + "adress = 'x'\n", ["endpoints.hosted", "'adress'", "base_url"]),
        (HOSTED + "address = 'x'\n", ["endpoints.hosted (engine openai)", "'address'"]),
        (TUNED + "key_file = 'x'\n", ["endpoints.tuned (engine ray)", "'key_file'"]),
        ("[endpoints.a]\nengine = 'openai'\n", ["endpoints.a", "requires base_url"]),
        ("[endpoints.a]\nengine = 'ray'\n", ["endpoints.a", "requires address"]),
        ("[endpoints.a]\nengine = ['ray']\n", ["endpoints.a", "['ray']"]),
        (TUNED.replace(":9000", ""), ["endpoints.tuned", "invalid address '127.0.0.1'", "HOST:PORT"]),
        ("endpoint = 3\n" + HOSTED, ["roles.planner.endpoint", "valid string"]),
        (HOSTED.replace("https:", "ftp:"), ["endpoints.hosted", "ftp://", "https://api.example.com/v1"]),
        (HOSTED + "timeout = 0\n", ["endpoints.hosted.timeout", "greater than 0"]),
        (HOSTED + "schema = 'xml'\n", ["endpoints.hosted.schema", "'json_schema'", "'xml'"]),
        (HOSTED + "key_variable = 'K'\nkey_file = 'k'\n", ["key_variable or key_file"]),
        (HOSTED + TUNED, ["the role names no endpoint", "hosted, tuned"]),
        ("endpoint = 'far'\n" + HOSTED, ["'far'", "hosted"]),
        ("[role.tutor]\n", ["'role'", "endpoint, endpoints, roles"]),
        ("roles = 3\n", ["roles", "3 is not a table"]),
        ("roles = [", ["no model settings"]),
    ],
)
def test_what_cannot_be_is_named_with_what_can(tmp_path: Path, text: str, named: list[str]) -> None:
    with pytest.raises(Failure) as refused:
        read(tmp_path, text)
    assert all(part in str(refused.value) for part in [*named, "models.toml"])


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        read(tmp_path, HOSTED.replace("api.", "me:hunter2@api."))
    assert "hunter2" not in str(refused.value)
    assert "key_file" in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="absent"):
        read_models(tmp_path / "absent")
