"""Problem files in German: read by a gloss, and kept in their own words."""

import json
from pathlib import Path

import pytest

from benchmarks.brought import BROUGHT, judge
from benchmarks.labelled import total
from benchmarks.messages import MESSAGES, by_label
from soliloquy.problems.files.imported_row import import_row
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.files.problem_row import AnswerRow
from soliloquy.problems.files.source_format import load_format
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.answers import StatedClaim, StudentMessage
from soliloquy.recipes.claims import claims_of, parsed
from soliloquy.runtime.failure import Failure
from soliloquy.truth.ledger import doubt_about
from soliloquy.truth.locales import UnknownLanguage, gloss, locale
from soliloquy.v1.conversation_pb2 import Problem

ROW = {
    "question": "Ein Sack Mehl wiegt 12,5 kg. Wie viel wiegen zweieinhalb Dutzend Säcke?",
    "solution": "Schritt 1) Zweieinhalb Dutzend sind 2,5 · 12 = 30 Säcke.\nSchritt 2) Das sind 30 · 12,5 kg = 375 kg.",
    "answer": "375 Kilogramm",
}


def _file(folder: Path, *rows: object) -> Path:
    path = folder / "aufgaben.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("3,5 von 1.200 oder 12.345,67", "3.5 of 1200 or 12345.67"),
        ("0.125 und 3.5 am 12.3.2024", "0.125 and 3.5 am 12.3.2024"),
        ("2{,}5 km, 3, 5", "2.5 km, 3, 5"),
        ("dreiundzwanzig, siebzehn, zweieinhalb, fünfhundert", "twenty-three, seventeen, two and a half, five hundred"),
        ("zweihundertfünfzig, hundertelf, eintausendacht", "two hundred fifty, one hundred eleven, one thousand eight"),
        ("3 Stunden und 20 Minuten", "3 h 20 min"),
        ("20 l pro Minute", "20 l/min"),
        ("ein Viertel von 40 Euro", "a quarter of 40 euros"),
        ("12 geteilt durch 4", "12 divided by 4"),
        ("15 km : 4 = 3, Rest 3; Strecke: 5 km", "15 km / 4 = 3 R 3; distance: 5 km"),
        ("Grundfläche, Quadratmeter, Xylophon", "area, m², Xylophon"),
    ],
)
def test_numbers_and_words_are_read_as_the_readers_know_them(text: str, read: str) -> None:
    assert gloss(text, "de") == read
    assert gloss(text, "") == text


def test_a_part_of_a_gloss_has_the_words_that_it_was_read_from() -> None:
    text = "Zwei Hefte kosten 2 · 1.200,50 €. Das ist viel. Ein Viertel davon sind 600 €."
    read = gloss(text, "de")
    start = read.index("a quarter")
    assert locale("de").original(text, start, len(read)) == "Ein Viertel davon sind 600 €."


def test_a_problem_keeps_its_words_and_its_values_are_settled(tmp_path: Path) -> None:
    [problem] = read_problems(_file(tmp_path, ROW), "de")
    assert doubt_about(problem) == ""
    assert (problem.question, problem.solution, problem.language) == (ROW["question"], ROW["solution"], "de")
    assert (problem.answer.value, problem.answer.unit, problem.answer.name) == (375, "kg", "Ergebnis von Schritt 2")
    assert [step.explanation for step in problem.steps] == [
        "Zweieinhalb Dutzend sind 2,5 · 12 = 30 Säcke.",
        "Das sind 30 · 12,5 kg = 375 kg.",
    ]
    assert "Ich dachte, da muss man teilen." in {slip.because for slip in problem.steps[0].slips}
    assert [step.ask for step in problem.steps] == ["Was rechnest du zuerst aus?", "Was bekommst du als Nächstes?"]


def test_an_answer_that_stands_alone_is_asked_for_in_german(tmp_path: Path) -> None:
    row = {"question": "Wie viele Minuten sind 1,5 Stunden?", "solution": "Rechne um.", "answer": "90 Minuten"}
    [problem] = read_problems(_file(tmp_path, row), "de")
    assert [step.ask for step in problem.steps][-1] == "Wie lautet also die Antwort auf die Frage?"


def test_an_imported_row_and_one_without_a_solution_keep_german_words(tmp_path: Path) -> None:
    source = load_format("csv")
    row = {"question": "Was kosten 6 Hefte zu je 1,20 €?", "solution": "6 · 1,20 € = 7,20 €", "answer": "7,20 €"}
    imported = import_row(row, source, "de").problem
    assert (imported.answer, imported.extra) == (AnswerRow(value=7.2, unit="€"), {"answer": "7,20 €"})
    [problem] = read_problems(_file(tmp_path, {"question": row["question"], "answer": "7,20 €"}), "de")
    assert (problem.solution, problem.answer.value) == ("Die Antwort lautet 7,20 €.", 7.2)


def test_a_false_sum_with_a_decimal_comma_is_a_fault(tmp_path: Path) -> None:
    solution = ROW["solution"].replace("375", "345,5")
    [fault] = problem_faults(_file(tmp_path, {**ROW, "solution": solution, "answer": None}), language="de")
    assert "is false: it is 375 kg" in fault


def test_no_labelled_problem_in_german_is_read_as_something_else() -> None:
    """The problems were labelled before the reader was run on them."""
    found = total(judge(BROUGHT.with_name("brought-de"), "de").values()).counts
    assert (found["good"], found["settled"], found["good refused"]) == (91, 84, 0)
    assert (found["with an error"], found["refused"], found["taken as right"]) == (28, 25, 0)


def test_no_labelled_message_in_german_is_judged_wrongly() -> None:
    judged = by_label(MESSAGES.with_name("messages-de") / "students.jsonl", "de").counts
    assert (judged["answers"], judged["decided"], judged["wrongly"], judged["decided without one"]) == (80, 75, 0, 0)


@pytest.mark.parametrize(
    ("value", "unit", "claimed"),
    [
        ("3,5", "Kilometer", (3.5, "km")),
        ("1.200", "", (1200, "")),
        ("12,50 €", "", (12.5, "€")),
        ("−3,2", "°C", (-3.2, "°C")),
    ],
)
def test_claims_are_read_with_decimal_commas(value: str, unit: str, claimed: tuple[float, str]) -> None:
    claim = parsed(StatedClaim(Value=value, Unit=unit), language="de")
    assert (claim.value, claim.unit) == claimed


def test_a_claim_in_the_notation_of_json_is_that_of_its_message() -> None:
    problem = Problem(language="de")
    for value, said in (("1.234", "Das sind 1,234 m."), ("1234", "Das sind 1.234 m."), ("1.234", "Das sind 1.234 m.")):
        [claim] = claims_of(StudentMessage(Message=said, Claims=[StatedClaim(Value=value, Unit="m")]), problem)
        assert claim.value == (1.234 if "," in said else 1234)


def test_banks_and_unknown_languages_are_refused() -> None:
    with pytest.raises(Failure, match="the problems of the bank physics are English: use a file"):
        problem_source("physics", "de")
    with pytest.raises(UnknownLanguage, match="there is no language 'xx': use one of en, de"):
        gloss("x", "xx")
