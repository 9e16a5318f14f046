"""An environment of its own for what the pages and the notebooks do."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from deploy.site.pages import ROOT

_COMMANDS = {"soliloquy": "-c 'from soliloquy.cli.main import main; main()'", "pip": "-m pip"}


def environment(folder: Path, *others: Path) -> dict[str, str]:
    """Makes an environment with the packages of this one and of others; returns the variables of its commands.

    pip installs into it and asks no index.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [site] = folder.glob("lib/*/site-packages")
    packages = [
        Path(sysconfig.get_path("purelib")),
        *(path for other in others for path in other.glob("lib/*/site-packages")),
    ]
    lines = (f"import site; site.addsitedir({str(path)!r})\n" for path in packages)
    (site / "shared.pth").write_text("".join(lines), "utf-8")
    for name, command in _COMMANDS.items():
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {folder}/bin/python {command} "$@"\n', "utf-8")
        script.chmod(0o755)
    return {
        **os.environ,
        **{"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "92"},
        **{"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"},
    }
