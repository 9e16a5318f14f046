"""Runs the notebooks, and makes pages of them."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from deploy.site.environment import environment
from deploy.site.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
# Its page has no outputs: they take PyTorch, and a minute.
TRAINING = ROOT / "examples/notebooks/train-and-evaluate.ipynb"
# The environment with Jupyter; it needs nothing of the product.
JUPYTER = ROOT / ".venv-site"


def convert(notebook: Path, out: Path, *, execute: bool) -> Path:
    """Writes a notebook as a page into a folder, with what it prints if it is executed; raises where a cell fails."""
    with tempfile.TemporaryDirectory() as place:
        variables = environment(Path(place) / "environment", JUPYTER)
        copied = shutil.copy(notebook, place)
        # A page shows no progress bars; Jupyter has every command take its output for a terminal.
        variables |= {"JUPYTER_PATH": str(JUPYTER / "share/jupyter"), "TTY_COMPATIBLE": "0"}
        steps = [["--to", "notebook", "--inplace", "--execute"]] * execute
        # The text that a command printed comes in pieces.
        steps += [["--to", "markdown", "--output-dir", str(out), "--CoalesceStreamsPreprocessor.enabled=True"]]
        for options in steps:
            command = ["python", "-m", "nbconvert", *options, copied]
            done = subprocess.run(command, env=variables, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise ChildProcessError(f"{notebook}: {done.stderr}")
    return out / f"{notebook.stem}.md"
