"""The answers of a user's problems are checked by programs that a model writes, run in the sandbox."""

import json
import subprocess
from itertools import permutations
from pathlib import Path

import pytest

from soliloquy.client import Dataset
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.truth.ledger import ledger_of, programs_in
from soliloquy.v1.conversation_pb2 import Problem, Verification
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.e2e.hosted import model_service
from tests.e2e.runs import SOLILOQUY, grown, one_line, said

ROWS = [
    {"question": "Seven rows of five. How many?", "solution": "Count them: there are 36."},
    {"question": "Six rows of four. How many?", "solution": "Count them: there are 24."},
    {"question": "Some rows of nine. How many?", "solution": "Count them: there are 18."},
    {"question": "Two rows of three. How many?", "solution": "There are 2 * 3 = 6."},
    # Every line of it holds, and only thinking finds what is wrong.
    {"question": "A fence of 15 m, a post every 3 m and at both ends. How many?", "solution": "15 / 3 = 5 posts."},
]
# By the first word of the question; the programs of one problem in turn.
PROGRAMS = {
    "Seven": ["n = 7 * 5", "n = 5 * 7", "n = 7 + 5"],
    "Six": ["n = 6 * 4", "n = 6 / 0", "n = 24.0"],
    "Some": ["n = 9", "n = 18", "n = 27"],
    "Two": ["n = 2 * 3", "n = 3 + 3", "n = 6"],
    "fence": ["n = 15 // 3 + 1", "n = 6", "n = len(range(0, 16, 3))"],
}


class Solver:
    """Writes the programs of a problem in turn; the only part of the way that is not the real one."""

    def __init__(self) -> None:
        self.requests: list[GenerateRequest] = []
        self._left = {word: iter(programs) for word, programs in PROGRAMS.items()}

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        text = request.messages[-1].text
        [word] = [word for word in PROGRAMS if word in text]
        program = {"Python Code": f"```python\n{next(self._left[word])}\n```", "Result Variable": "n"}
        return Completion(text=json.dumps({"Python": program}), model="solver", engine="test")


def verified(source: Path, out: Path, *model: str) -> subprocess.CompletedProcess[str]:
    command = [SOLILOQUY, "problems", "verify", str(source), "--out", str(out), *model]
    return said(command)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def came_to(problem: Problem) -> int:
    """Returns how many programs came to one number."""
    found = programs_in(problem.ledger)
    return found.agreeing if found is not None else 0


def test_a_majority_of_programs_verifies_refuses_or_disputes_an_answer_and_any_other_stays_unverified(
    source: Path, tmp_path: Path
) -> None:
    solver, out = Solver(), tmp_path / "verified.jsonl"
    with model_service(solver) as address:
        done = verified(source, out, "--model", "ray", "--model-address", address, "--json")
    assert done.returncode == 0, done.stderr
    counts = {"checked": 5, "verified": 2, "worked_through": 0, "disputed": 1, "unverified": 1, "unfit": 1}
    assert json.loads(done.stdout) == {**counts, "programs": 3}
    assert f"{source}:1: unfit: the answer is 36, and 2 of 3 independent programs give 35" in done.stderr
    assert f"{source}:5: disputed: the answer is 5 posts, and 3 of 3 independent programs give 6 posts" in done.stderr
    kept = {one.question.split()[0]: one for one in read_problems(out)}
    assert {word: came_to(one) for word, one in kept.items()} == {"Six": 2, "Some": 0, "Two": 3, "A": 3}
    assert [word for word, one in kept.items() if ledger_of(one).has_settled_answer] == ["Six", "Two"]
    # The model sees neither the solution nor the answer.
    said = " ".join(message.text for request in solver.requests for message in request.messages)
    assert "Count them" not in said


def test_the_scripted_model_is_refused_in_one_line(source: Path, tmp_path: Path) -> None:
    done = verified(source, tmp_path / "verified.jsonl")
    assert one_line(done) == "soliloquy: problems verify requires --model openai or ray: the scripted model solves few"
    assert not (tmp_path / "verified.jsonl").exists()


class Tutoring(Solver):
    """The scripted model, which plays every role but that of the solver."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self._scripted = scripted_model(ModelSettings(problems=[str(source)]))

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.prompt == "problems/program":
            return await super().generate(request)
        return await self._scripted.generate(request)


def test_a_run_checks_the_answers_of_its_problems_before_their_conversations(source: Path, tmp_path: Path) -> None:
    tutoring, out = Tutoring(source), tmp_path / "out"
    with model_service(tutoring) as address:
        grown(out, problems=source, conversations=4, model="ray", model_address=address, seed=3)
    made = json.loads((out / "manifest.json").read_text())
    assert made["run"]["model"] == "default (ray)"
    dataset = Dataset(str(out))
    by_question = {one.problem.question.split()[0]: one for one in dataset}
    agreeing = {word: came_to(one.problem) for word, one in by_question.items()}
    assert agreeing == {"Six": 2, "Some": 0, "Two": 3, "A": 3}
    [refused] = dataset.conversations(rejected=True)
    assert refused.ending_reason == (
        "programs contradict the answer: the answer is 36, and 2 of 3 independent programs give 35"
    )
    assert not refused.turns
    checked = by_question["Six"]
    assert all(turn.verification != Verification.VERIFICATION_NONE for turn in checked.turns)
    assert any(turn.verification == Verification.VERIFICATION_NONE for turn in by_question["Some"].turns)
    # A calculation of the tutor may follow the solution into its error.
    judged = {turn.verification for turn in by_question["A"].turns}
    assert judged <= {Verification.VERIFICATION_UNSPECIFIED, Verification.VERIFICATION_NONE}
    shown = said([SOLILOQUY, "show", str(out), checked.id])
    # The programs are asked for at the same time: which comes first is open.
    orders = permutations(("24", "24.0", "ZeroDivisionError: division by zero"))
    assert any("; ".join(order) in shown.stdout for order in orders), shown.stdout
    assert made["counts"]["enrichment"] == {}
    assert made["counts"]["unfit"] == {"programs contradict the answer": 1}
