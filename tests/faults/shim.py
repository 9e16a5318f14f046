"""Lets chosen calls on files fail in a process and its children, by a library that is loaded before others."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Strike:
    """One failure: of the call of this number that a process makes on files whose path begins with `under`."""

    # "change" or "open".
    calls: str
    at: int
    under: Path
    error: int
    torn: bool = False
    # The file that says what it struck.
    mark: Path

    @property
    def struck(self) -> str:
        """Returns the path that it struck; empty if none was reached."""
        return self.mark.read_text("utf-8") if self.mark.exists() else ""


def built(folder: Path) -> Path:
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    return library


def environment(shim: Path, strikes: Sequence[Strike], clock_seconds: int = 0) -> dict[str, str]:
    """Returns the variables of a struck process. A strike that has left its mark strikes no more."""
    lines = [f"{one.calls} {one.at} {one.error} {int(one.torn)} {one.mark} {one.under}" for one in strikes]
    clock = {"FAULT_CLOCK": str(clock_seconds)} if clock_seconds else {}
    return {"LD_PRELOAD": str(shim), "FAULT_STRIKES": "\n".join(lines), **clock}
