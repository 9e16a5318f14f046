"""A model examines a word problem: programs from the question alone, a second look at the text, an opinion."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.problems import problems
from soliloquy.problems.solving.rule_solver import program, solve
from soliloquy.v1.conversation_pb2 import Ruling
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_papers.mathwell.answers import Reading
from soliloquy_papers.mathwell.commands.examination import examine
from soliloquy_papers.mathwell.criteria.verdicts import (
    NAMES,
    Criterion,
    Evidence,
    WordProblem,
    evidence_vector,
    opinions_by,
)
from tests.cases import each_case
from tests.unit.papers.mathwell.writing import APPROVED, ENGINE, FUNCTION, QUESTION
from tests.unit.scripted.growing import DESK

PENGUINS = WordProblem(question=QUESTION, code=FUNCTION, answer=21.0)
NOTHING = Reading.written(missing="nothing", other_reading="none", other_answer="none")


class Solves:
    """A model whose programs are these, in turn."""

    def __init__(self, *programs: str, reading: str = NOTHING, judgement: str = APPROVED) -> None:
        self.programs = programs
        self.told = {"mathwell/reading": reading, "mathwell/judging": judgement}
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        if request.prompt in self.told:
            return Completion(text=self.told[request.prompt], model="solves")
        texts = [json.dumps({"Python Code": f"```python\n{one}\n```", "Result Variable": "n"}) for one in self.programs]
        first, *more = (Completion(text=text, model="solves") for text in texts)
        first.more.extend(more)
        return first


def named(evidence: Evidence, answer: float) -> Mapping[str, float]:
    return dict(zip(NAMES, evidence_vector(evidence, answer), strict=True))


async def test_programs_are_written_from_the_question_alone_and_compared_with_the_answer() -> None:
    model = Solves("n = 12 + 9", "n = 12 + 9 + 5", "n = rocks + 9")
    evidence = await examine(PENGUINS, model, DESK.execute)
    assert evidence.values == [21.0, 26.0, None]
    assert evidence.inventing == 1
    solving = model.requests[0].messages[-1].text
    assert QUESTION in solving
    assert FUNCTION not in solving
    found = named(evidence, 21.0)
    assert found["programs: agreeing"] == found["programs: failed"] == pytest.approx(1 / 3)
    assert found["programs: contradicting"] == 0
    assert (found["model: solvable"], found["probes: missing number"]) == (1, -1)


async def test_a_missing_number_and_another_answer_are_heard_and_no_objection_is_made_up() -> None:
    other = Reading.written(missing="the price of a ticket", other_reading="Those in the water too.", other_answer="30")
    evidence = await examine(PENGUINS, Solves("n = 21", "n = 21", "n = 21", reading=other), DESK.execute)
    assert (evidence.missing, evidence.ambiguous) == (True, True)
    same = json.dumps({"Missing": None, "Other Reading": "Both kinds of penguins.", "Other Answer": 21})
    evidence = await examine(PENGUINS, Solves("n = 21", "n = 21", "n = 21", reading=same), DESK.execute)
    assert (evidence.missing, evidence.ambiguous) == (False, False)


@each_case
def test_what_is_missing_is_told_from_nothing(said: str, missing: bool) -> None:
    answer, _ = Reading.read(Reading.written(missing=said, other_reading="none", other_answer="none"))
    assert answer.misses_something is missing


async def test_an_unusable_answer_leaves_its_part_unknown() -> None:
    evidence = await examine(PENGUINS, Solves("n = 21", "n = 21", "n = 21", judgement="I cannot."), DESK.execute)
    assert evidence.judged == {}
    assert evidence.values == [21.0] * 3


def test_a_result_in_another_unit_is_told_from_a_contradiction() -> None:
    found = named(Evidence(values=[2.1, 2.1, 2.1]), 210.0)
    assert (found["programs: in another unit"], found["programs: contradicting"]) == (1, 1)
    assert named(Evidence(values=[22.0] * 3), 21.0)["programs: in another unit"] == 0


def test_unweighed_evidence_objects_only_where_most_programs_agree_on_another_answer() -> None:
    def said(*values: float | None) -> list[int]:
        return [one.ruling for one in opinions_by(Evidence(values=values), 21.0)]

    assert said(7.0, 7.0, None) == [Ruling.RULING_NO]
    assert said(21.0, 21.0, 7.0) == [Ruling.RULING_YES]
    assert said(7.0, 8.0, 21.0) == said(None, None, None) == []


async def test_the_scripted_model_solves_what_a_rule_answers_and_says_so_of_the_rest() -> None:
    evidence = await examine(PENGUINS, ENGINE, DESK.execute)
    assert evidence.values == [None] * 3
    assert set(evidence.judged) == set(Criterion)
    assert "no rule of the scripted model solves this question" in program(QUESTION)
    known = {
        "Uma has 14 shells and Theo has 8 shells. How many shells do they have in total?": "14 + 8",
        "Noor has 20 plums. She eats 6 plums. How many plums are left?": "20 - 6",
        "There are 7 crates. Each crate holds 12 melons. How many melons are there?": "7 * 12",
        "Lin shares 24 pears equally among 6 friends. How many pears does each friend get?": "24 / 6",
    }
    assert {question: solve(question)[0] for question in known} == known


def test_a_file_is_calibrated_and_scored_with_what_a_model_finds_out(tmp_path: Path) -> None:
    rows = [
        {"question": PENGUINS.question, "solution": PENGUINS.code, "answer": 21.0},
        {
            "question": "Noor has 20 plums. She eats 6 plums. How many plums are left?",
            "solution": FUNCTION,
            "answer": 21.0,
        },
    ]
    source, verdicts = tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    refused = CliRunner().invoke(problems, ["score", str(source), "--model", "scripted"])
    assert "--model requires --examine" in refused.output
    ran = CliRunner().invoke(problems, ["score", str(source), "--examine", "--out", str(verdicts)])
    assert ran.exit_code == 0, ran.output
    penguins, plums = (json.loads(line) for line in verdicts.read_text("utf-8").splitlines())
    assert penguins["evidence"]["programs"] == [None] * 3
    assert plums["evidence"]["programs"] == [14.0] * 3
    assert "accurate: programs: programs from the question alone come to 14, 14, 14" in plums["objections"]
