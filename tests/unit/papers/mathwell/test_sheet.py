"""The sheet that a teacher prints."""

import shutil
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step
from soliloquy_papers.mathwell.commands.sheet import write_sheet

ADDED = Step(explanation="Add both.", expression="a + b")
PROBLEMS = [
    Problem(question="How many are 2 < 3 & 4?", answer=Quantity(value=7), steps=[ADDED]),
    Problem(question="<script>alert(1)</script> How far?", answer=Quantity(value=1234.5, unit="km")),
]


def test_a_sheet_needs_nothing_besides_itself_and_has_the_answers_on_a_page_of_their_own(tmp_path: Path) -> None:
    write_sheet(PROBLEMS, "A word problem about kites.", tmp_path / "sheet.html")
    page = (tmp_path / "sheet.html").read_text("utf-8")
    questions, _, answers = page.partition("<h2>Answers</h2>")
    assert "How many are 2 &lt; 3 &amp; 4?" in questions
    assert "<b>7</b> Add both." in answers
    assert "<b>1234.5 km</b>" in answers
    assert "1234.5" not in questions
    assert ".answers { break-before: page; }" in questions
    assert "<script" not in page
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "google-chrome"))), reason="needs Chromium")
def test_a_sheet_is_a_pdf_where_there_is_a_browser(tmp_path: Path) -> None:
    write_sheet(PROBLEMS, "A word problem about kites.", tmp_path / "sheet.pdf")
    made = (tmp_path / "sheet.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert made.count(b"/Type /Page\n") == 2


def test_without_a_browser_a_pdf_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Failure, match=r"Chromium is not installed: install it, or use an \.html sheet"):
        write_sheet(PROBLEMS, "", tmp_path / "sheet.pdf")
    assert not list(tmp_path.iterdir())
