"""Collects what a machine with a GPU and without a network lacks: `python -m benchmarks.gpu.wheels --help`.

On that machine: cat DIR/part-* | tar x, install the wheels into a folder, and put it and this tree on PYTHONPATH.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from packaging.requirements import Requirement

_ROOT = Path(__file__).parents[2]
# Large libraries that no step needs: kernels for other models, Ray, video, and what is built on them.
_SPARED = re.compile(
    r"nvidia-|cuda-|ray|torch|triton|flashinfer|tilelang|quack|tokenspeed|humming|numba|llvmlite|opencv"
)
_PLATFORMS = (
    "manylinux_2_39_x86_64",
    *(f"manylinux_2_{minor}_x86_64" for minor in (36, 35, 34, 31, 28, 27, 24, 17, 5)),
)
_MIB = 2**20


@click.command()
@click.option("--installed", type=click.File(), required=True, help="`pip freeze` of that machine.")
@click.option("--python", default="3.12", show_default=True, help="Its Python.")
@click.option("--vllm", help="The version of vLLM for its torch; left out without.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder for the parts.")
@click.option("--part", default=48, show_default=True, help="MiB of a part at most.")
def wheels(installed: Iterable[str], python: str, vllm: str | None, out: Path, part: int) -> None:
    """Write the wheels that the steps need and another machine lacks, as a tar in parts."""
    there = {_name(line): line.strip().split("==")[1] for line in installed if "==" in line}
    wanted = lacking(_resolved(python, there["torch"], vllm), there)
    with tempfile.TemporaryDirectory() as folder:
        platforms = [option for platform in _PLATFORMS for option in ("--platform", platform)]
        asked = ["--no-deps", "--only-binary=:all:", "--python-version", python, "--dest", folder, *platforms]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *asked, *wanted], check=True)
        out.mkdir(parents=True, exist_ok=True)
        whole = subprocess.run(["tar", "c", "-C", folder, "."], stdout=subprocess.PIPE, check=True).stdout
    for number, start in enumerate(range(0, len(whole), part * _MIB)):
        (out / f"part-{number:02}").write_bytes(whole[start : start + part * _MIB])
    click.echo(f"{len(wanted)} wheels, {len(whole) / _MIB:.0f} MiB: {', '.join(map(_name, wanted))}")


def _resolved(python: str, torch: str, vllm: str | None) -> list[str]:
    """Returns each requirement with its version, as the project's own resolver chooses it beside that torch."""
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    for_it = [
        "--python-version",
        python,
        "--python-platform",
        "x86_64-manylinux_2_28",
        "--extra",
        "train",
        "--extra",
        "serve",
    ]
    with tempfile.TemporaryDirectory() as folder:
        given, torch_there = Path(folder, "given.in"), Path(folder, "torch.txt")
        given.write_text(f"vllm=={vllm}" if vllm else "", "utf-8")
        torch_there.write_text(f"torch=={torch}", "utf-8")
        files = [str(_ROOT / "pyproject.toml"), str(given), "--override", str(torch_there)]
        ended = subprocess.run([*uv, *for_it, *files], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split(";")[0].strip() for line in ended.stdout.splitlines() if "==" in line]


def lacking(needed: Iterable[str], there: Mapping[str, str]) -> list[str]:
    """Returns what is not there, or in a version that the project does not take."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    own = {
        _name(one.name): one for one in map(Requirement, [*project["dependencies"], *extras["train"], *extras["serve"]])
    }

    def fits(name: str) -> bool:
        return name in there and (name not in own or there[name] in own[name].specifier)

    return [one for one in needed if not (fits(_name(one)) or _SPARED.match(_name(one)))]


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement.split("==")[0].strip()).lower()


if __name__ == "__main__":
    wheels()
