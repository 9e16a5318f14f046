"""Checks what can be known of the images without building them; `make images-check` builds them."""

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from soliloquy.runtime.distribution import NAME
from tests.images.dockerfile import FILE, command, copied, line, stages, variables

ROOT = Path(__file__).parents[3]
IMAGES = ("workers", "executor", "model")
STAGES = stages(FILE.read_text("utf-8"))
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pinned(lock: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in PINNED.findall(lock.read_text("utf-8")):
        found.setdefault(name, set()).add(version)
    return found


def test_the_linter_has_nothing_to_say() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_starts_the_cli_as_a_user_without_rights(image: str) -> None:
    assert command(STAGES, image)[-1] == "soliloquy"
    assert STAGES[image].last("USER") == "1000:1000"


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_says_what_it_is(image: str) -> None:
    labels = [variables(step) for stage in line(STAGES, image) for step in stage.steps if step.instruction == "LABEL"]
    names = {name.removeprefix("org.opencontainers.image.") for each in labels for name in each}
    assert names >= {"title", "description", "licenses", "version", "revision"}


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_holds_nothing_that_only_building_needs(image: str) -> None:
    from_others = {copied(step)[0] for step in STAGES[image].steps if step.instruction == "COPY"}
    packages = "model-packages" if image == "model" else "workers-packages"
    assert from_others == ({packages} if image == "workers" else {"runsc", packages})


def test_every_install_is_held_to_hashes() -> None:
    installs = [step.told for stage in STAGES.values() for step in stage.steps if " install --quiet" in step.told]
    assert len(installs) == 5
    assert all("--require-hashes" in told or "--no-index" in told for told in installs)
    for lock in FILE.parent.glob("*.lock"):
        requirements = re.split(r"\n(?=\S)", lock.read_text("utf-8").strip())
        assert all("--hash=sha256:" in requirement for requirement in requirements), lock


@pytest.mark.parametrize("lock", ["build.lock", "workers.lock"])
def test_an_image_has_the_versions_that_the_tests_have(lock: str) -> None:
    tested = pinned(ROOT / "requirements-dev.lock")
    found = pinned(FILE.parent / lock)
    assert {name: tested.get(name) for name in found} == found


@pytest.mark.parametrize("lock", ["workers.lock", "model.lock"])
def test_an_image_runs_the_code_that_was_generated_for_it(lock: str) -> None:
    """Generated code refuses a runtime with an older major version, or an older minor of the same major."""
    [runtime], [generator] = (pinned(FILE.parent / name)["protobuf"] for name in (lock, "build.lock"))
    assert [*map(int, runtime.split("."))] >= [*map(int, generator.split("."))]


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("workers.lock", ["s3", "otlp"]), ("model.lock", ["s3", "otlp", "serve", "train", "vllm"])],
)
def test_a_lock_is_what_the_project_declares(lock: str, extras: list[str]) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *declared["dependencies"],
        *(each for extra in extras for each in declared["optional-dependencies"][extra]),
    ]
    found = pinned(FILE.parent / lock)
    for requirement in map(Requirement, wanted):
        if requirement.name != NAME:
            assert all(map(requirement.specifier.contains, found[requirement.name])), requirement


def test_bytecode_holds_no_times() -> None:
    """Files get the revision's time after they were compiled, so bytecode that names another would be stale."""
    steps = [step.told for stage in STAGES.values() for step in stage.steps]
    installs = [told for told in steps if "/opt/soliloquy/bin/python install" in told]
    assert all("--no-compile" in told for told in installs)
    assert sum("--invalidation-mode unchecked-hash" in told for told in installs) == 2


def test_a_stage_stands_below_all_that_it_needs_and_above_what_others_need() -> None:
    """An older builder builds every stage above its target: the model's packages are needed by the model alone."""
    assert [*STAGES].index("executor") < [*STAGES].index("model-packages")
    assert [*STAGES].index("workers") < [*STAGES].index("runsc")


def test_the_builder_is_sent_all_that_is_copied() -> None:
    let_in = [
        pattern.removeprefix("!")
        for pattern in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if pattern.startswith("!")
    ]
    for stage in STAGES.values():
        for step in stage.steps:
            if step.instruction == "COPY" and not step.told.startswith("--from"):
                for source in copied(step)[1]:
                    assert (ROOT / source).exists(), source
                    assert any(fnmatch(source, pattern) for pattern in let_in), source
