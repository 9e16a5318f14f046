"""Types of values on the command line, the kinds of files that it names, and options that many commands share."""

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.types import FuncParamType

from soliloquy.cli.command import setting
from soliloquy.runtime.failure import did_you_mean
from soliloquy.runtime.files import unwritable
from soliloquy.runtime.weights import GGUF_ADVICE

if TYPE_CHECKING:
    from soliloquy.dataset.storage import Storage

N = TypeVar("N", bound=float)

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 168
_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_LARGEST = 1024


class Number(click.ParamType[N], Generic[N]):
    """A number between two bounds; both are among the values."""

    def __init__(self, read: Callable[[str], N], kind: str, least: N, most: N) -> None:
        self.name = "number"
        self._read = read
        self._kind = kind
        self._least = least
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> N:
        number: N | None
        try:
            number = self._read(str(value))
        except ValueError:
            number = None
        if number is None or not self._least <= number <= self._most:
            text = f"{value!r} is not a {self._kind} from {self._least:,} to {self._most:,}"
            raise click.BadParameter(text, ctx, param)
        return number


def whole(least: int, most: int) -> Number[int]:
    return Number(int, "whole number", least, most)


def real(least: float, most: float) -> Number[float]:
    return Number(float, "number", least, most)


class Choice(click.Choice[str]):
    """One of a few words; a wrong one is answered with the nearest, or with advice if none is near."""

    def __init__(self, choices: Sequence[str], *, advice: str = "") -> None:
        super().__init__(choices)
        self._advice = f": {advice}" if advice else ""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            one_of = f"{value!r} is not one of {', '.join(self.choices)}"
            raise click.BadParameter(one_of + (did_you_mean(str(value), self.choices) or self._advice), ctx, param)
        return str(value)


def _address(value: str) -> str:
    match = re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", value)
    if match is None or int(match[1]) > 65_535:
        example = f"127.0.0.1:{value}" if value.isdecimal() and int(value) <= 65_535 else "127.0.0.1:50051"
        raise click.BadParameter(f"invalid address {value!r}: use HOST:PORT, e.g. {example}")
    return value


def _brokers(value: str) -> str:
    for address in value.split(","):
        try:
            _address(address)
        except click.BadParameter as bad:
            raise click.BadParameter(f"invalid address {address!r}: use HOST:PORT, e.g. 127.0.0.1:9092") from bad
    return value


def _duration(value: str | float) -> float:
    if isinstance(value, float):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", value)
    if match is None:
        raise click.BadParameter(f"invalid duration {value!r}: use a number with a unit, e.g. 200ms, 1.5s or 2m")
    if not match[2]:
        raise click.BadParameter(f"{value!r} has no unit: use {value}ms or {value}s")
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST * _SECONDS["h"]:
        raise click.BadParameter(f"{value!r} is too long: use at most {_LONGEST}h")
    return seconds


def _size(value: str | int) -> int:
    if isinstance(value, int):
        return value
    match = re.fullmatch(r"([1-9]\d{0,8})(KiB|MiB|GiB|)", value)
    if match is None:
        raise click.BadParameter(f"invalid size {value!r}: use a number with a unit, e.g. 512MiB")
    if not match[2]:
        raise click.BadParameter(f"{value!r} has no unit: use {value}MiB or {value}GiB")
    size = int(match[1]) * _BYTES[match[2]]
    if size > _LARGEST * _BYTES["GiB"]:
        raise click.BadParameter(f"{value!r} is too large: use at most {_LARGEST}GiB")
    return size


def _dollars(value: str | float) -> float:
    if isinstance(value, float):
        return value
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?) ?(USD|)", value)
    if match is None or not float(match[1]):
        raise click.BadParameter(f"invalid sum {value!r}: use dollars, e.g. 50USD or 2.50USD")
    if not match[2]:
        raise click.BadParameter(f"{value!r} has no currency: use {value}USD")
    return float(match[1])


def duration_text(seconds: float) -> str:
    return f"{seconds * 1000:g}ms" if seconds < 1 else f"{seconds:g}s"


def size_text(size: float) -> str:
    unit = max((unit for unit, count in _BYTES.items() if size >= count), key=_BYTES.__getitem__, default="KiB")
    return f"{size / _BYTES[unit]:g}{unit}"


def _place(value: str) -> "Storage":
    # Commands without datasets never load fsspec.
    from soliloquy.dataset.storage import Storage

    return Storage(value)


ADDRESS, BROKERS, PLACE = FuncParamType(_address), FuncParamType(_brokers), FuncParamType(_place)
DURATION, SIZE, DOLLARS = FuncParamType(_duration), FuncParamType(_size), FuncParamType(_dollars)
# The names that help shows.
DURATION.name, SIZE.name, DOLLARS.name, ADDRESS.name = "duration", "size", "sum", "host:port"


def free_address() -> str:
    """Returns an address of this machine that no process listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


class NewFile(click.Path):
    """A file to write; never one that is there, unless a command knows it for its own."""

    def is_ours(self, path: Path) -> bool:
        return False

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if path.exists() and not self.is_ours(path):
            self.fail(f"{path} exists: choose another file", param, ctx)
        return path


class NewProblemFile(NewFile):
    """A problem file to write, under a name by which it is read again."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        # Imported here: most commands have no problem file.
        from soliloquy.problems.files.problem_file import SUFFIXES

        path = super().convert(value, param, ctx)
        if path.suffix.lower() not in SUFFIXES:
            self.fail(f"{path} would not be read as a problem file: use the suffix .jsonl", param, ctx)
        return path


class Folder(click.Path):
    def __init__(self, **how: Any) -> None:
        super().__init__(path_type=Path, file_okay=False, **how)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "DIR"


class WeightsFolder(Folder):
    """A folder of weights, which other processes read that may run elsewhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if Path(value).is_file():
            advice = f"name the folder with config.json, tokenizer.json and *.safetensors; {GGUF_ADVICE}"
            self.fail(f"{value} is a file: {advice}", param, ctx)
        return super().convert(value, param, ctx)


ANY_PATH = click.Path(path_type=Path)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
EXISTING_FOLDER, NEW_FOLDER = Folder(exists=True), Folder()
RESOLVED_FOLDER, NEW_RESOLVED_FOLDER = WeightsFolder(exists=True, resolve_path=True), Folder(resolve_path=True)
NEW_FILE = NewFile(path_type=Path, dir_okay=False)
NEW_PROBLEM_FILE = NewProblemFile(path_type=Path, dir_okay=False)
# The contract holds 64 bits.
SEEDS = whole(0, 2**64 - 1)
# Larger numbers are slips of the keyboard: some would start more than a machine can run.
MOST = 1_000_000_000
COUNT = whole(1, MOST)
WORKERS = 256
IN_FLIGHT = 100_000
ATTEMPTS = 100_000
TURNS = 1_000
AS_JSON = setting("Print JSON and nothing else.", "--json", "as_json", is_flag=True)
QUIET = setting("Print nothing but errors.", "--quiet", is_flag=True)
SEED = setting("Seed of all random draws.", "--seed", default=0, type=SEEDS)
WAIT = setting("Wait for a model that does not answer, instead of stopping after a minute.", "--wait", is_flag=True)
PROBLEM_FILE_OUT = setting("The problem file to write.", "--out", required=True, type=NEW_PROBLEM_FILE)


@contextmanager
def writing_to(out: Path | str, option: str = "--out", *, resumes: bool = False) -> Iterator[None]:
    """Turns an OSError into a Failure that names the file that cannot be written."""
    try:
        yield
    except OSError as error:
        # A file is written beside its place first.
        failed = str(error.filename or out)
        place = out if Path(out).name in failed else failed
        raise unwritable(place, error, f"choose another {option}", resumes=resumes) from error
