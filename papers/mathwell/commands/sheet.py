"""Writes a sheet of problems to print, with room to work and the answers on a page of their own."""

import html
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.v1.conversation_pb2 import Problem

_PAGE = Template(Path(__file__).with_name("sheet.html").read_text("utf-8"))
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE_SECONDS = 120
_DIGITS = 6


def write_sheet(problems: Sequence[Problem], about: str, out: Path) -> None:
    """Writes self-contained HTML, or a PDF with a browser's help; raises Failure and OSError."""
    page = _page(problems, about).encode()
    if out.suffix == ".html":
        with atomic_file(out) as file:
            file.write(page)
        return
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise Failure(f"{out}: Chromium is not installed: install it, or use an .html sheet and print it")
    with TemporaryDirectory() as scratch:
        made = _printed(browser, page, Path(scratch))
        with atomic_file(out) as file:
            file.write(made)


def _page(problems: Sequence[Problem], about: str) -> str:
    return _PAGE.substitute(
        about=html.escape(about),
        problems="\n".join(f"<li><p>{html.escape(one.question)}</p></li>" for one in problems),
        answers="\n".join(map(_solved, problems)),
    )


def _solved(problem: Problem) -> str:
    answer = with_unit(format_rounded(problem.answer.value, _DIGITS), problem.answer.unit)
    way = " ".join(step.explanation for step in problem.steps if step.expression)
    return f"<li><b>{html.escape(answer)}</b> {html.escape(way)}</li>"


def _printed(browser: str, page: bytes, scratch: Path) -> bytes:
    source, target = scratch / "sheet.html", scratch / "sheet.pdf"
    source.write_bytes(page)
    options = ["--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-pdf-header-footer"]
    if os.geteuid() == 0:
        # Chromium refuses to run as root otherwise; the page has no script, and its policy lets none in.
        options.append("--no-sandbox")
    command = [browser, *options, f"--user-data-dir={scratch / 'profile'}", f"--print-to-pdf={target}", source.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{browser} did not print within {_PATIENCE_SECONDS} s: use an .html sheet") from late
    if not target.exists():
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise Failure(f"{browser} printed nothing ({said}): use an .html sheet")
    return target.read_bytes()
