"""Promises of the importers: each published format becomes problems that a run takes, and nothing of it is lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.problems.files import import_
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.truth.ledger import programs_in
from tests.cases import each_case
from tests.unit.problems.imports import as_csv, as_parquet, imported, jsonl, saved_split

PLAIN = [
    {"question": "What is 2 + 3?", "solution": "2 + 3 = 5", "answer": 5, "grade": 1},
    {"question": "What is 4 · 3?", "solution": "4 · 3 = 12", "answer": 12, "grade": None},
    {"question": "And 9 - 1?", "solution": "9 - 1 = 8", "answer": 8, "grade": 2},
]


def test_the_same_rows_are_the_same_problems_in_every_container(tmp_path: Path) -> None:
    sources = {
        "jsonl": jsonl(tmp_path / "a.jsonl", *PLAIN),
        "csv": as_csv(tmp_path / "a.csv", PLAIN),
        "parquet": as_parquet(tmp_path / "a.parquet", PLAIN),
        "datasets": saved_split(tmp_path / "saved", PLAIN[:1], PLAIN[1:]),
    }
    read = {}
    for name, source in sources.items():
        outcome = imported(source, None)
        assert outcome.counts.written == 3, name
        read[name] = [(p.id, p.question, p.answer.value) for p in read_problems(outcome.target)]
    assert read["csv"] == read["parquet"] == read["datasets"] == read["jsonl"]
    assert [value for _, _, value in read["jsonl"]] == [5, 12, 8]


def test_what_our_rows_have_no_place_for_is_kept(tmp_path: Path) -> None:
    row = {**PLAIN[0], "source": {"book": "mine", "page": [7, None]}, "split": "a", "solve_rate": "0.25"}
    (kept,) = imported(jsonl(tmp_path / "a.jsonl", row), "jsonl").rows
    assert kept["extra"] == {
        "solve_rate": 0.25,
        "grade": 1,
        "source": {"book": "mine", "page": [7, None]},
        "split": "a",
    }


def test_an_imported_file_imports_as_itself(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    steps = [{"explanation": "Add.", "expression": "2 + 3", "result": {"symbol": "s"}}]
    first = imported(jsonl(tmp_path / "a.jsonl", {**PLAIN[0], "steps": steps, "tolerance": 0.02}), "jsonl")
    moved = first.target.rename(tmp_path / "again" / "b.jsonl")
    assert imported(moved, "jsonl").target.read_bytes() == moved.read_bytes()


def test_a_column_map_finds_columns_of_another_name(tmp_path: Path) -> None:
    rows = [{"Frage": "Was ist 2 + 3?", "Loesung": "2 + 3 = 5", "Thema": "plus"}]
    source = as_csv(tmp_path / "a.csv", rows, delimiter=";")
    (kept,) = imported(source, "csv", columns={"question": "Frage", "solution": "Loesung", "topic": "Thema"}).rows
    assert (kept["question"], kept["solution"], kept["topic"]) == ("Was ist 2 + 3?", "2 + 3 = 5", "plus")
    with pytest.raises(UnreadableSource, match="no column 'Note'; there are: 'Frage', 'Loesung', 'Thema'"):
        imported(source, "csv", columns={"question": "Frage", "solution": "Loesung", "answer": "Note"})


def test_rows_with_answers_alone_are_problems(tmp_path: Path) -> None:
    rows = [{"question": "How much is 2 + 3?", "answer": "5"}, {"question": "What is its capital?", "answer": "Lima"}]
    for source in (as_csv(tmp_path / "a.csv", rows), jsonl(tmp_path / "a.jsonl", *rows)):
        first, second = imported(source, None).rows
        assert first["answer"] == {"value": 5.0}
        assert (second["solution"], second["extra"]["answer"]) == ("The answer is Lima.", "Lima")


def test_columns_may_have_commas_in_their_names(tmp_path: Path) -> None:
    rows = [{"Frage, kurz": "Was ist 2 + 3?", "Weg, lang": "2 + 3 = 5", "Thema": "plus"}]
    source, out = as_csv(tmp_path / "a.csv", rows), tmp_path / "b.jsonl"
    named = ("--columns", "question=Frage, kurz,solution=Weg, lang, topic=Thema")
    done = CliRunner().invoke(import_, [str(source), "--out", str(out), *named])
    assert done.exit_code == 0, done.stderr
    (problem,) = read_problems(out)
    assert (problem.question, problem.solution, problem.topic) == ("Was ist 2 + 3?", "2 + 3 = 5", "plus")


def test_a_problem_without_an_answer_stays_where_the_column_of_answers_is_named(tmp_path: Path) -> None:
    rows = [
        {"question": "What is 2 + 3?", "solution": "2 + 3 = 5", "Ergebnis": "5"},
        {"question": "Why does a boat float?", "solution": "The water pushes it up.", "Ergebnis": ""},
    ]
    kept = imported(as_csv(tmp_path / "a.csv", rows), "csv", columns={"answer": "Ergebnis"}).rows
    assert [row.get("answer") for row in kept] == [{"value": 5.0}, None]


def test_a_column_in_the_way_of_ours_is_kept_under_another_name(tmp_path: Path) -> None:
    row = {**PLAIN[0], "solve_rate": 0.5, "rate": 0.75}
    (kept,) = imported(jsonl(tmp_path / "a.jsonl", row), "jsonl", columns={"solve_rate": "rate"}).rows
    assert kept["extra"] == {"solve_rate": 0.75, "grade": 1, "source solve_rate": 0.5}


def test_a_dictionary_of_splits_keeps_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    saved_split(folder / "train", PLAIN[:2])
    saved_split(folder / "test", PLAIN[2:])
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', "utf-8")
    rows = imported(folder, "datasets").rows
    assert [row["extra"]["split"] for row in rows] == ["train", "train", "test"]


@pytest.mark.parametrize("container", ["csv", "jsonl", "array"])
def test_the_published_physics_set_keeps_its_detailed_solutions_and_outlines(tmp_path: Path, container: str) -> None:
    row = {
        "Question": "A pump lifts 20 kg of water by 3 m. Which energy does that take?",
        "Original Solution": "E = m g h = 20 × 9.81 × 3 = 588.6 J",
        "Detailed Solution": 'Step 1) List what is known.\nStep 2) "E = m g h", so E = 588.6 J.',
        "Solution Outline": "Step 1) Knowns.\nStep 2) E = m g h",
    }
    path = tmp_path / ("a.csv" if container == "csv" else "a.json")
    match container:
        case "csv":
            as_csv(path, [row])
        case "jsonl":
            jsonl(path, row)
        case "array":
            path.write_text(json.dumps([row], indent=1), "utf-8")
    outcome = imported(path, "physics")
    (problem,) = read_problems(outcome.target)
    assert problem.solution == row["Original Solution"]
    explained = problem.enrichment
    assert (explained.detailed_solution, explained.outline) == (row["Detailed Solution"], row["Solution Outline"])
    assert len(problem.steps) == 2
    assert (problem.answer.value, problem.answer.unit) == (588.6, "J")


BAKER = {
    "question": "A baker fills 12 boxes with 6 rolls each and eats a quarter of one box. How many rolls are left?",
    "answer": (
        "There are 12*6=<<12*6=72>>72 rolls.\n"
        "A quarter of a box is 6/4=<<6/4=1.5>>1.5 rolls, so 72-1.5=<<72-1.5=70.5>>70.5 rolls are left.\n#### 70.5"
    ),
}


def test_marked_calculations_become_steps_with_expressions(tmp_path: Path) -> None:
    outcome = imported(jsonl(tmp_path / "a.jsonl", BAKER), "gsm8k")
    (problem,) = read_problems(outcome.target)
    assert [(step.expression, step.result.value) for step in problem.steps] == [
        ("12 * 6", 72),
        ("6 / 4", 1.5),
        ("72 - 1.5", 70.5),
    ]
    assert problem.steps[1].explanation == "A quarter of a box is 6/4=1.5"
    assert problem.answer.value == 70.5
    assert "<<" not in problem.solution
    assert "####" not in problem.solution


SHIRT = "15% of $40 are $<<40*15/100=6>>6.\nSo it costs 40-6=$<<40-6=34>>34.\n#### $34"
SEATS = "How many? ** 25*1,200=<<25*1200=30000>>30,000 seats\nLeft? ** <<30000-4500=25500>>25,500\n#### 25,500"
WITHOUT_MARKS = "There are 5 * 6 = 30 eggs.\n30 - 3 = 27 eggs are whole.\n#### 27"
WITH_A_CHECK = "She had 12 apples, and gets 3 * 5 = 15 more.\n#### 12"


@pytest.mark.parametrize("annotated", [BAKER["answer"], SHIRT, SEATS, WITHOUT_MARKS, WITH_A_CHECK, "1/2=<<1/2=.5>>.5"])
def test_a_problem_file_may_have_solutions_in_the_form_of_gsm8k(tmp_path: Path, annotated: str) -> None:
    published = {"question": "How much is it?", "answer": annotated}
    (known,) = read_problems(imported(jsonl(tmp_path / "a.jsonl", published), "gsm8k").target)
    assert known.steps[-1].result == known.answer
    for row in (published, {"question": "How much is it?", "solution": annotated}):
        own = jsonl(tmp_path / "b.jsonl", row)
        as_csv(tmp_path / "b.csv", [row])
        for path in (own, imported(own, None).target, imported(tmp_path / "b.csv", None).target):
            (read,) = read_problems(path)
            read.source = known.source
            assert read == known
            assert not [*problem_faults(path)]


def test_a_solution_in_the_form_of_gsm8k_leaves_the_other_fields_of_its_row(tmp_path: Path) -> None:
    own = {"id": "rolls", "topic": "sums", "tolerance": 0.02, "programs": {"value": 70.5, "agreeing": 3, "of": 3}}
    row = {**own, "question": BAKER["question"], "solution": BAKER["answer"], "answer": "70.5 rolls"}
    (problem,) = read_problems(jsonl(tmp_path / "a.jsonl", row))
    assert (problem.id, problem.topic, problem.tolerance, problem.answer.unit) == ("rolls", "sums", 0.02, "rolls")
    programs = programs_in(problem.ledger)
    assert programs is not None
    assert (problem.steps[0].expression, programs.agreeing) == ("12 * 6", 3)
    for field, value, said in (
        ("answer", 72, "contradicts the '70.5' that the solution ends with"),
        ("answers", 70.5, "is not a field of a problem file: did you mean answer?"),
    ):
        assert [*problem_faults(jsonl(tmp_path / "a.jsonl", {**row, field: value}))] == [
            f"{tmp_path}/a.jsonl:1: {field}: {said}"
        ]


def test_headings_in_a_solution_are_no_answers(tmp_path: Path) -> None:
    solution = "#### Idea\nHalve them.\n#### Work\n48 / 2 = 24 pigs"
    (problem,) = read_problems(jsonl(tmp_path / "a.jsonl", {"question": "How many of 48?", "solution": solution}))
    assert problem.solution == solution


@each_case
def test_odd_marks_cost_no_problem(tmp_path: Path, answer: str, steps: list[list[Any]], value: float) -> None:
    outcome = imported(jsonl(tmp_path / "a.jsonl", {**BAKER, "answer": answer}), "gsm8k")
    (problem,) = read_problems(outcome.target)
    assert [[step.expression, step.result.value] for step in problem.steps] == steps
    assert problem.answer.value == value


def test_a_socratic_line_gives_the_question_that_leads_to_its_step(tmp_path: Path) -> None:
    answer = "How many rolls are there? ** There are <<12*6=72>>72 rolls.\n#### 72"
    (row,) = imported(jsonl(tmp_path / "a.jsonl", {**BAKER, "answer": answer}), "gsm8k").rows
    (step,) = row["steps"]
    assert (step["ask"], step["explanation"]) == ("How many rolls are there?", "There are 72 rolls.")


def test_a_marked_calculation_that_is_wrong_is_refused(tmp_path: Path) -> None:
    wrong = {**BAKER, "question": "Wrong?", "answer": "It is <<2*3=7>>7\n#### 7"}
    outcome = imported(jsonl(tmp_path / "a.jsonl", BAKER, wrong), "gsm8k")
    assert outcome.complaints == ["a.jsonl:2: steps.0.result.value: is 7, but 2*3 gives 6"]


DIALOGUE = {
    "qid": 5000012,
    "scenario": 1,
    "question": "Ida reads 12 pages a day for 5 days. How many pages is that?",
    "ground_truth": "She reads 12 * 5 = 60 pages.\n 60",
    "student_incorrect_solution": "12 + 5 = 17",
    "student_profile": "A 7th grade student.",
    "teacher_described_confusion": None,
    "self-correctness": "Yes",
    "conversation": "Teacher: (probing)How did you start?|EOM|Ida: I added.|EOM|Teacher: ",
}


def test_every_dialogue_about_a_problem_can_be_kept(tmp_path: Path) -> None:
    other = {**DIALOGUE, "conversation": "Teacher: (generic)Hello!|EOM|"}
    source = jsonl(tmp_path / "a.jsonl", DIALOGUE, other)
    kept = imported(source, "mathdial", keep_repeats=True)
    assert [row["id"] for row in kept.rows] == ["5000012", "5000012"]
    assert [row["extra"]["conversation"] for row in kept.rows] == [DIALOGUE["conversation"], other["conversation"]]
    assert set(kept.rows[0]["extra"]) == set(DIALOGUE) - {"qid", "question", "ground_truth"}
    assert kept.rows[0]["answer"] == {"value": 60.0}
    assert (kept.counts.written, kept.counts.repeated) == (2, 1)

    single = imported(source, "mathdial")
    assert single.complaints == ["a.jsonl:2: question: the same as at a.jsonl:1"]
    (problem,) = read_problems(single.target)
    assert [(step.expression, step.result.value) for step in problem.steps] == [("12 * 5", 60)]


PROGRAM = """def solution():
    #Ben sells 3 cakes at 4.50 each
    cakes = 3
    price = 4.50
    #He pays 2.50 for flour
    flour = 2.50
    #The income is cakes times price
    income = cakes * price
    #What is left is income minus flour
    answer = income - flour
    return answer"""


def test_a_program_is_kept_as_it_is_and_read_as_steps(tmp_path: Path) -> None:
    row = {"question": "Ben sells cakes. What is left?", "solution": PROGRAM, "answer": 11.0, "topic": "baking"}
    outcome = imported(as_csv(tmp_path / "a.csv", [row]), "sgsm")
    (problem,) = read_problems(outcome.target)
    assert problem.solution == PROGRAM
    assert problem.topic == "baking"
    assert [(s.explanation, s.expression, s.result.value) for s in problem.steps] == [
        ("The income is cakes times price", "cakes * price", 13.5),
        ("What is left is income minus flour", "income - flour", 11),
    ]
    assert [(i.symbol, i.value) for i in problem.steps[0].inputs] == [("cakes", 3), ("price", 4.5)]


@each_case
def test_rounded_steps_and_answers_of_programs_are_no_reason_to_refuse_a_row(
    tmp_path: Path, code: str, answer: str
) -> None:
    outcome = imported(
        as_csv(tmp_path / "a.csv", [{"question": "How much?", "solution": code, "answer": answer}]), "sgsm"
    )
    (problem,) = read_problems(outcome.target)
    assert problem.answer.value == pytest.approx(float(answer), rel=1e-3)


def test_no_program_is_ever_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    touch = f"open({str(mark)!r}, 'w')"
    code = f"{touch}\ndef solution():\n    #Touch it\n    return {touch}"
    outcome = imported(jsonl(tmp_path / "a.jsonl", {"question": "Run?", "solution": code, "answer": 3}), "sgsm")
    assert not mark.exists()
    (problem,) = read_problems(outcome.target)
    assert [(step.explanation, step.result.value) for step in problem.steps] == [
        ("Touch it", 0),
        ("State the answer to the question.", 3),
    ]


@each_case
def test_a_program_that_cannot_be_read_costs_its_steps_only(tmp_path: Path, code: str) -> None:
    row = {"question": "What?", "solution": code, "answer": "3.0"}
    (problem,) = read_problems(imported(jsonl(tmp_path / "a.jsonl", row), "sgsm").target)
    assert (problem.solution, problem.answer.value) == (code, 3)


def test_big_math_keeps_solve_rates_and_answers_that_are_no_number(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "problem": "What is 2 + 3?",
            "answer": "5",
            "source": "own",
            "domain": ["Mathematics -> Arithmetic", "Other"],
            "llama8b_solve_rate": 0.875,
        },
        {
            "problem": "Halve x.",
            "answer": "\\frac{x}{2}",
            "source": "own",
            "domain": ["Mathematics -> Algebra"],
            "llama8b_solve_rate": None,
        },
    ]
    outcome = imported(as_parquet(tmp_path / "a.parquet", rows), "bigmath")
    number, worded = outcome.rows
    assert (number["topic"], number["answer"]) == ("Mathematics -> Arithmetic", {"value": 5.0})
    assert number["extra"] == {"solve_rate": 0.875, "source": "own", "domain": rows[0]["domain"]}
    assert "answer" not in worded
    assert worded["extra"]["answer"] == "\\frac{x}{2}"
    assert worded["extra"]["solve_rate"] is None
    assert [problem.HasField("answer") for problem in read_problems(outcome.target)] == [True, False]


def test_the_unit_of_an_answer_goes_with_it(tmp_path: Path) -> None:
    numbers, words = (
        imported(jsonl(tmp_path / "a.jsonl", {**PLAIN[0], "answer": answer, "unit": "kg"}), "jsonl").rows[0]
        for answer in (5, "a few")
    )
    assert numbers["answer"] == {"value": 5.0, "unit": "kg"}
    assert words["extra"] == {"answer": "a few", "unit": "kg", "grade": 1}


@each_case
def test_an_answer_is_a_number_only_where_it_is_nothing_else(
    tmp_path: Path, text: str, value: dict[str, Any] | None, kept: str | None
) -> None:
    row = {"question": "What?", "solution": "Think.", "answer": text}
    (read,) = imported(as_csv(tmp_path / "a.csv", [row]), "csv").rows
    assert read.get("answer") == value
    assert read.get("extra", {}).get("answer") == kept


def test_what_cannot_be_read_of_a_row_is_reported_and_the_row_kept(tmp_path: Path) -> None:
    row = {"question": "Half of 18 apples, three times?", "solution": "Half of them are 8. 8 * 3 = 24"}
    outcome = imported(jsonl(tmp_path / "a.jsonl", row), "jsonl")
    assert outcome.unread == [
        "a.jsonl:1: unverified: 1 of 4 numbers open: cannot read 'Half of them are 8. 8 * 3 = 24'"
    ]
    assert (outcome.counts.written, outcome.counts.unread, outcome.complaints) == (1, 1, [])


APPLES = {"question": "Tom has 15 apples and picks 6 more. How many has he?", "solution": "15 + 6 = 21"}
SUM = {"question": "What is 2 + 3?", "solution": "2 + 3 = 5", "answer": "5"}


@pytest.mark.parametrize(
    "answer", ["22", "22 apples", "€22", "22€", "1 1/2", "1½", "9.5m", "9,5", "2 000", "six", "twenty-two apples"]
)
def test_an_answer_that_contradicts_the_solution_is_refused_however_it_is_written(tmp_path: Path, answer: str) -> None:
    rows = [{**APPLES, "answer": answer}, SUM]
    outcome = imported(as_csv(tmp_path / "a.csv", rows), "csv")
    [said] = outcome.complaints
    assert said.startswith("a.csv:2: answer: is ")
    assert said.endswith("but the last step that yields a number gives 21")
    own = jsonl(tmp_path / "b.jsonl", {**APPLES, "answer": answer})
    assert [fault.removeprefix(f"{own}:1") for fault in problem_faults(own)] == [said.removeprefix("a.csv:2")]


@pytest.mark.parametrize("answer", ["21 apples", "twenty-one", "21 fruits", "21.0"])
def test_an_answer_that_the_solution_comes_to_is_the_problems_answer(tmp_path: Path, answer: str) -> None:
    row = {**APPLES, "solution": "15 apples + 6 apples = 21 apples", "answer": answer}
    (problem,) = read_problems(imported(as_csv(tmp_path / "a.csv", [row]), "csv").target)
    assert problem.answer.value == 21
    assert len(problem.steps) == 1


def test_a_decimal_comma_leaves_the_unit_of_a_result_whole(tmp_path: Path) -> None:
    row = {"question": "How long are both?", "solution": "4,5 m + 5 m = 9,5 m", "answer": "9,5 m"}
    (problem,) = read_problems(imported(as_csv(tmp_path / "a.csv", [row]), "csv").target)
    assert [(step.result.value, step.result.unit) for step in problem.steps] == [(9.5, "m")]


def test_an_answer_that_stays_text_is_reported_and_counted(tmp_path: Path) -> None:
    rows = [{**APPLES, "answer": "22 apples\nfor Tom"}, SUM]
    outcome = imported(as_csv(tmp_path / "a.csv", rows), "csv")
    assert outcome.unread == [
        "a.csv:2: answer: '22 apples for Tom' is kept as text: nothing is compared with it; "
        "write the number and its unit alone, e.g. 2.5 m"
    ]
    assert (outcome.counts.written, outcome.counts.text_answers, outcome.complaints) == (2, 1, [])


def test_an_answer_in_words_beside_a_program_is_reported(tmp_path: Path) -> None:
    row = {"question": "What is left?", "solution": "def solution():\n    return 3", "answer": "4 for Ben"}
    outcome = imported(as_csv(tmp_path / "a.csv", [row]), "sgsm")
    assert outcome.rows[0]["answer"] == {"value": 3}
    assert outcome.counts.text_answers == 1


def test_a_raw_answer_with_subproblems_is_a_problem_with_their_steps(tmp_path: Path) -> None:
    parts = [
        {"Question": f"What is part {n}?", "Answer": f"It is leaf {n}.", "Hint": "Look up.", "Feedback": "No."}
        for n in "ab"
    ]
    raw = json.dumps({"Problem": "Name the parts of a plant.", "SubProblems": parts})
    rows = [{"section_name": "Plants", "problems": text} for text in (f"Sure!\n```json\n{raw}\n```", "I cannot.")]
    outcome = imported(jsonl(tmp_path / "raw.jsonl", *rows), "class")
    assert [str(refusal) for refusal in outcome.refusals] == ["raw.jsonl:2: solution: the answer holds no JSON object"]
    [problem] = outcome.rows
    assert [step["ask"] for step in problem["steps"]] == ["What is part a?", "What is part b?"]
    assert problem["extra"]["subproblems"][0] == {"hint": "Look up.", "wrong": "", "feedback": "No."}
