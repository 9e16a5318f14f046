"""The wheel of this checkout holds all of the product under names of its own, and works."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_structure import SERVICE_NAMES

ROOT = Path(__file__).parents[3]
PACKAGES = ("soliloquy", "soliloquy_papers", "soliloquy_services", "soliloquy_training")
DATA = {".toml", ".sql", ".txt", ".html", ".js", ".css"}


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The folder that the wheel is installed into."""
    folder = wheel.parent / "installed"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def test_it_holds_a_bill_of_the_dependencies_that_are_locked(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/soliloquy.cdx.json")]
        bill = json.loads(archive.read(name))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {(component["name"], component["version"]) for component in bill["components"]}
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    assert listed == {tuple(line.split()[0].split("==")) for line in lines if "==" in line and line[0] != " "}
    assert set(bill["dependencies"][0]["dependsOn"]) == {component["purl"] for component in bill["components"]}


def printed(program: str, folder: Path) -> str:
    """Runs a program with this folder and the dependencies on its path, and not the checkout."""
    path = [str(folder), sysconfig.get_path("purelib")]
    program = f"import sys\nsys.path += {path}\n{program}"
    # Without site, which would add the checkout that is installed in place.
    command = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout.strip()


def data_files() -> Iterator[str]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in DATA:
                yield str(path.relative_to(ROOT))


def test_the_wheel_holds_the_contract_and_every_data_file_and_neither_tests_nor_benchmarks(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in held if ".dist-info" not in name} == {*PACKAGES, "soliloquy_gym.py"}
    assert not set(data_files()) - held
    contract = {path.stem for path in (ROOT / "protos" / "soliloquy" / "v1").glob("*.proto")}
    assert contract
    for name in contract:
        assert {f"soliloquy/v1/{name}_pb2.py", f"soliloquy/v1/{name}_pb2.pyi"} <= held
    assert {f"soliloquy/v1/{name}_pb2_grpc.py" for name in ("gateway", "model", "sandbox")} <= held
    assert any(name.startswith("soliloquy/cli/rules/") for name in held)


def test_the_command_line_of_the_wheel_finds_its_services(installed: Path) -> None:
    program = f"""
import soliloquy.cli.main, importlib
print(*{{importlib.import_module(f"soliloquy_services.{{name}}.app").__file__ for name in {sorted(SERVICE_NAMES)}}})
"""
    apps = set(printed(program, installed).split())
    assert apps == {str(installed / "soliloquy_services" / name / "app.py") for name in SERVICE_NAMES}
