"""Promises of the importers for sources that are broken: each row of them is named, and the good ones come through."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soliloquy.problems.files.importing import NothingUsable
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import LONGEST_LINE, UnreadableSource
from soliloquy.problems.files.source_format import format_names
from soliloquy.runtime.failure import Failure
from tests.cases import each_case
from tests.unit.problems.imports import Outcome, as_csv, as_parquet, imported, jsonl, saved_split

GOOD = {"question": "What is 2 + 3?", "solution": "2 + 3 = 5"}
BAD = {"question": "What is 4 + 5?", "solution": "Add."}
LAST = {"question": "What is 4 + 3?", "solution": "4 + 3 = 7"}


LONG = {"LONGEST": "y" * LONGEST_LINE, "LONG": "y" * 20_001, "DIGITS": "9" * 5000, "DEEP": "[" * 5000}


def as_bytes(text: str) -> bytes:
    """Returns a byte for each character, and a long text for a word of `LONG`."""
    for word, long in LONG.items():
        text = text.replace(word, long)
    return text.encode("latin-1")


def between(line: bytes) -> bytes:
    return json.dumps(GOOD).encode() + b"\n" + line + b"\n" + json.dumps(LAST).encode() + b"\n"


@each_case
def test_a_broken_line_is_named_and_costs_no_other(tmp_path: Path, line: str, complaint: str) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(between(as_bytes(line)))
    outcome = imported(source, "jsonl")
    assert [row["question"] for row in outcome.rows] == [GOOD["question"], LAST["question"]]
    [said] = outcome.complaints
    assert said.startswith(f"a.jsonl:2: {complaint}")
    assert "\n" not in said
    assert len(said) < 300
    assert (outcome.counts.read, outcome.counts.written, outcome.counts.refused) == (3, 2, 1)
    with pytest.raises(Failure, match=r"a\.jsonl:2: "):
        imported(source, "jsonl", strict=True)


@each_case
def test_a_broken_record_is_named_and_costs_no_other(tmp_path: Path, record: str, complaint: str) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(b'question,solution\n"2 + 3?","5,\nor so"\n' + as_bytes(record) + b'\n4 + 3?,"7"\n')
    outcome = imported(source, "csv")
    assert [row["question"] for row in outcome.rows] == ["2 + 3?", "4 + 3?"]
    assert outcome.complaints[0].startswith(f"a.csv:4: {complaint}")


CONTAINERS = ("jsonl", "array", "csv", "parquet", "datasets")


def imported_from(container: str, folder: Path, rows: list[dict[str, Any]]) -> Outcome:
    match container:
        case "jsonl":
            return imported(jsonl(folder / "a.jsonl", *rows), "jsonl")
        case "array":
            source = folder / "a.json"
            source.write_text(json.dumps(rows), "utf-8")
            return imported(source, "physics", columns={name: name for name in rows[0]} if rows else {})
        case "csv":
            return imported(as_csv(folder / "a.csv", rows), "csv")
        case "parquet":
            return imported(as_parquet(folder / "a.parquet", rows), "parquet")
    return imported(saved_split(folder / "saved", rows), "datasets")


@pytest.mark.parametrize("container", CONTAINERS)
@each_case
def test_a_number_that_cannot_be_used_is_named_whatever_it_comes_in(
    tmp_path: Path, container: str, answer: float, complaint: str
) -> None:
    rows: list[dict[str, Any]] = [{**GOOD, "answer": 5.0}, {**BAD, "answer": answer}, {**LAST, "answer": 7.0}]
    outcome = imported_from(container, tmp_path, rows)
    [said] = outcome.complaints
    assert said.endswith(complaint)
    assert [row["question"] for row in outcome.rows] == [GOOD["question"], LAST["question"]]


@each_case
def test_a_source_without_rows_is_one_line(tmp_path: Path, container: str, complaint: str) -> None:
    with pytest.raises((NothingUsable, UnreadableSource)) as caught:
        imported_from(container, tmp_path, [])
    assert str(caught.value).endswith(complaint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("container", ["csv", "parquet", "datasets"])
def test_a_column_that_is_missing_is_named_with_those_that_are_there(tmp_path: Path, container: str) -> None:
    with pytest.raises(
        UnreadableSource, match="no column 'solution' and no column 'answer'; there are: 'question', 'reason'"
    ):
        imported_from(container, tmp_path, [{"question": "Why?", "reason": "So."}])


def test_a_quote_that_is_never_closed_is_named_by_the_line_that_opens_it(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(b'question,solution\n1 + 1?,2\n2 + 2?,"4\n3 + 3?,6\n4 + 4?,8\n')
    outcome = imported(source, "csv")
    assert outcome.complaints == ["a.csv:3: text: not CSV: a quote that opens here is never closed"]
    assert [row["question"] for row in outcome.rows] == ["1 + 1?", "3 + 3?", "4 + 4?"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "a.csv"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    source.write_bytes(mark + "question,solution\nWhich Ω?,5 Ω ਊ\n".encode(encoding))
    (row,) = imported(source, "csv").rows
    assert (row["question"], row["solution"]) == ("Which Ω?", "5 Ω ਊ")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_carriage_returns_alone_end_lines(tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes('question;solution\r1 + 1?;2\r"2 +\r2?";4\r3 + 3?\r'.encode(encoding))
    outcome = imported(source, "csv")
    assert [row["question"] for row in outcome.rows] == ["1 + 1?", "2 +\n2?"]
    assert outcome.complaints == ["a.csv:5: text: 1 cells, but there are 2 columns"]


def test_empty_columns_and_rows_of_a_spreadsheet_are_left_out(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    rows = ("1 + 1?;2;2;;", ";;;;", ";;", " ; ;;;", "2 + 2?;4;4;;checked", ";;;;")
    source.write_text("\n".join(("question;solution;answer;;", *rows)), "utf-8")
    outcome = imported(source, "csv")
    assert outcome.complaints == []
    assert [(row["question"], row.get("extra")) for row in outcome.rows] == [
        ("1 + 1?", None),
        ("2 + 2?", {"column 5": "checked"}),
    ]


@pytest.mark.parametrize("first", ["sep=;", "SEP=|", '"sep=;"', "sep=\t"])
def test_a_line_that_names_the_separator_is_followed(tmp_path: Path, first: str) -> None:
    source, separator = tmp_path / "a.csv", first.strip('"')[-1]
    source.write_text(f"{first}\r\nquestion{separator}solution\r\n1, 2, 3, or ,4?{separator}4\r\n", "utf-8")
    outcome = imported(source, "csv")
    assert [(row["question"], row["solution"]) for row in outcome.rows] == [("1, 2, 3, or ,4?", "4")]


def test_utf_16_that_breaks_off_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(f"{json.dumps(GOOD)}\n{json.dumps(LAST)}".encode("utf-16")[:-1])
    outcome = imported(source, "jsonl")
    assert outcome.complaints == ["a.jsonl:2: text: is not utf-16-le: truncated data; reading ends here"]
    assert [row["question"] for row in outcome.rows] == [GOOD["question"]]


def test_a_lone_surrogate_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps([{"Question": "W\ud800hy?", "Original Solution": "So."}, _physics(GOOD)]), "utf-8")
    assert imported(source, "physics").complaints == ["a.json item 1: Question: holds the lone surrogate U+D800"]


def _physics(row: dict[str, str]) -> dict[str, str]:
    return {"Question": row["question"], "Original Solution": row["solution"]}


@each_case
def test_a_source_that_cannot_be_read_is_one_line(
    tmp_path: Path, as_format: str | None, name: str, content: str | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(as_bytes(content))
    with pytest.raises(UnreadableSource) as caught:
        imported(tmp_path / name, as_format)
    assert complaint in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} <= {name}


def test_a_folder_that_is_none_of_datasets_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match=r"neither a state\.json nor a dataset_dict\.json"):
        imported(tmp_path, "datasets")
    with pytest.raises(UnreadableSource, match="is a folder"):
        imported(tmp_path, "jsonl")
    folder = saved_split(tmp_path / "saved", [GOOD])
    (folder / "data-00000-of-00001.arrow").write_bytes(b"garbage")
    with pytest.raises(UnreadableSource, match="not readable as an Arrow stream"):
        imported(folder, "datasets")
    (folder / "state.json").write_text('{"_data_files": 7}', "utf-8")
    with pytest.raises(UnreadableSource, match="_data_files is no list"):
        imported(folder, "datasets")


def test_a_folder_of_datasets_leads_nowhere_else(tmp_path: Path) -> None:
    saved_split(tmp_path / "theirs", [GOOD])
    folder = saved_split(tmp_path / "saved", [LAST])
    state = {"_data_files": [{"filename": "../theirs/data-00000-of-00001.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state), "utf-8")
    (row,) = imported(folder, "datasets").rows
    assert row["question"] == LAST["question"]


def test_columns_are_missed_before_anything_is_read(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{"problem": "x", "solution": "y"}]), source)
    with pytest.raises(UnreadableSource, match="no column 'answer'; there are: 'problem', 'solution'"):
        imported(source, "bigmath")


def test_bytes_that_are_no_text_cost_their_row_only(tmp_path: Path) -> None:
    questions = pa.array([b"2 + 3?", b"W\xffhy?", b"4 + 3?"], pa.binary()).cast(pa.string(), safe=False)
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"question": questions, "solution": ["5", "So.", "7"]}), source)
    outcome = imported(source, "parquet")
    assert outcome.complaints == ["a.parquet row 2: text: not UTF-8 at byte 2 of a cell"]
    assert [row["question"] for row in outcome.rows] == ["2 + 3?", "4 + 3?"]


def test_a_number_that_is_none_is_kept_where_nothing_is_calculated_with_it(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    row = {**GOOD, "solve_rate": float("nan"), "score": float("-inf"), "seen": 3}
    pq.write_table(pa.Table.from_pylist([row]), source)
    (kept,) = imported(source, "parquet").rows
    assert kept["extra"] == {"solve_rate": "nan", "score": "-inf", "seen": 3}


def test_nothing_is_written_where_nothing_can_be_used_or_all_is_wanted(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", {"question": "Why?"})
    with pytest.raises(NothingUsable):
        imported(source, "jsonl")
    source = jsonl(source, GOOD, {"question": "Why?"})
    with pytest.raises(Failure):
        imported(source, "jsonl", strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_what_was_there_stays_until_an_import_is_whole(tmp_path: Path) -> None:
    before = imported(jsonl(tmp_path / "a.jsonl", GOOD), "jsonl").target.read_bytes()
    with pytest.raises(Failure):
        imported(jsonl(tmp_path / "a.jsonl", LAST, {"question": "Why?"}), "jsonl", strict=True)
    assert (tmp_path / "imported.jsonl").read_bytes() == before


def test_a_question_that_was_there_before_is_reported_and_left_out(tmp_path: Path) -> None:
    again = {**LAST, "question": "What  is\n2 + 3?"}
    source = jsonl(tmp_path / "a.jsonl", GOOD, again, LAST)
    outcome = imported(source, "jsonl")
    assert outcome.complaints == ["a.jsonl:2: question: the same as at a.jsonl:1"]
    assert (outcome.counts.refused, outcome.counts.repeated) == (0, 1)
    assert len(read_problems(outcome.target)) == 2
    with pytest.raises(Failure, match="the same as at"):
        imported(source, "jsonl", strict=True)


@settings(max_examples=60)
@given(
    as_format=st.sampled_from([name for name in format_names() if name not in ("parquet", "datasets")]),
    suffix=st.sampled_from([".csv", ".json", ".jsonl"]),
    content=st.binary(max_size=120) | st.text('{}[]",:;\n #question solution', max_size=120).map(str.encode),
)
def test_garbage_is_reported_and_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, as_format: str, suffix: str, content: bytes
) -> None:
    source = (tmp_path_factory.getbasetemp() / "garbage").with_suffix(suffix)
    source.write_bytes(content)
    with pytest.raises((UnreadableSource, NothingUsable)):
        imported(source, as_format)


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.lists(st.text(max_size=3))
TEXTS = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["<<1+1=2>>2\n#### 2", "<<2/0=1>>", "<<**=3>>3 #### x", "def solution():\n    x = 5\n    y = x / 0\n    return y"]
)


@settings(max_examples=60)
@given(
    as_format=st.sampled_from(["jsonl", "gsm8k", "mathdial", "sgsm", "bigmath"]),
    rows=st.lists(
        st.fixed_dictionaries(
            {"question": TEXTS, "problem": TEXTS},
            optional={
                **dict.fromkeys(["solution", "answer", "ground_truth"], TEXTS | CELLS),
                **dict.fromkeys(["id", "qid", "topic", "domain", "steps", "tolerance", "extra", "solve_rate"], CELLS),
            },
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_whatever_is_written_is_what_a_run_takes(
    tmp_path_factory: pytest.TempPathFactory, as_format: str, rows: list[dict[str, Any]]
) -> None:
    source = jsonl(tmp_path_factory.getbasetemp() / "any.jsonl", *rows)
    try:
        outcome = imported(source, as_format)
    except NothingUsable:
        return
    try:
        read = read_problems(outcome.target)
    except UnreadableSource as bad:
        pytest.fail(f"a run refuses what was imported: {bad}")
    assert len(read) == outcome.counts.written
    assert outcome.counts.read == outcome.counts.written + outcome.counts.refused + outcome.counts.repeated
