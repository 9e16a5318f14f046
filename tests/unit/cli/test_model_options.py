"""Which models answer, as people say it on the command line."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from soliloquy.cli.command import Command
from soliloquy.cli.model_options import MODELS, RECORD
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings import Models
from tests.cases import each_case

URL = "http://127.0.0.1:8000/v1"
ROOT = Path(__file__).parents[3]
FILE = '[endpoints.hosted]\nengine = "openai"\nbase_url = "https://api.example.com/v1"\n'


def chosen(*arguments: str) -> tuple[Models, Path | None]:
    found: list[Any] = []

    @click.command(cls=Command)
    @click.option("--noise", default="none")
    def command(*, models: Models = MODELS, record: Path | None = RECORD, noise: str) -> None:
        found.extend((models, record))

    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    if result.exception:
        raise result.exception
    models, record = found
    return models, record


def refusal(*arguments: str) -> str:
    with pytest.raises((click.UsageError, Failure)) as refused:
        chosen(*arguments)
    return str(refused.value)


def test_nothing_said_is_the_scripted_model() -> None:
    models, record = chosen()
    assert {endpoint.engine for endpoint in models.used.values()} == {"scripted"}
    assert record is None


def test_an_endpoint_is_for_all_roles() -> None:
    models, record = chosen("--model", "openai", "--base-url", URL, "--model-name", "large", "--record", "kept")
    [endpoint] = models.used.values()
    assert (endpoint.engine, endpoint.base_url, endpoint.model) == ("openai", URL, "large")
    assert record == Path("kept")
    models, _ = chosen("--model", "ray", "--model-address", "127.0.0.1:9000")
    assert [endpoint.address for endpoint in models.used.values()] == ["127.0.0.1:9000"]


def test_a_file_may_have_the_sampling_and_the_options_the_endpoint(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text("[roles.tutor]\ntemperature = 1.5\n", "utf-8")
    models, _ = chosen("--model-settings", str(tmp_path / "models.toml"), "--model", "openai", "--base-url", URL)
    assert models.roles["tutor"][0].temperature == 1.5
    assert [endpoint.base_url for endpoint in models.asked("tutor")] == [URL]


@each_case
def test_what_does_not_fit_together_is_said(arguments: list[str], words: str) -> None:
    assert words in refusal(*arguments)


def test_endpoints_are_in_the_file_or_in_the_options(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(FILE, "utf-8")
    both = ("--model-settings", str(file), "--model", "openai", "--base-url", URL)
    assert "--model cannot be used with the endpoints" in refusal(*both)
    file.write_text("[roles.tutur]\n", "utf-8")
    assert "unknown name 'tutur': did you mean tutor?" in refusal("--model-settings", str(file))


@each_case
def test_a_prompt_that_no_recipe_has_is_refused_with_the_nearest(tmp_path: Path, name: str, words: str) -> None:
    file = tmp_path / "models.toml"
    file.write_text(f'[prompts."{name}"]\ntemperature = 0.2\n', "utf-8")
    assert words in refusal("--model-settings", str(file))


def test_prompts_of_a_recipe_and_of_independent_programs_may_have_settings(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    names = ("mathdial/solving", "soliloquy/use_python", "problems/program")
    file.write_text("".join(f'[prompts."{name}"]\nmax_tokens = 77\n' for name in names), "utf-8")
    models, _ = chosen("--model-settings", str(file))
    assert {name: settings.max_tokens for name, settings in models.prompts.items()} == dict.fromkeys(names, 77)


def test_several_versions_are_refused_for_a_role_whose_answers_nothing_ranks(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text("[roles.codegen]\nbest_of = 3\n", "utf-8")
    assert "roles.codegen: nothing ranks its answers: best_of is for student and composer" in refusal(
        "--model-settings", str(file)
    )


@pytest.mark.parametrize("page", ["docs/models.md", "soliloquy/runtime/model/README.md"])
def test_the_settings_that_the_pages_show_can_be_used(tmp_path: Path, page: str) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    file = tmp_path / "models.toml"
    file.write_text(example, "utf-8")
    models, _ = chosen("--model-settings", str(file))
    assert max(len(members) for members in models.roles.values()) == 2
    assert models.prompts
