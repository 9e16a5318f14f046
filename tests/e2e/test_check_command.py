"""`soliloquy check`: what is so in a dataset, whatever its records say of themselves; `verify`: what its files are."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from soliloquy.client import Dataset
from soliloquy.dataset.storage import Storage
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Conversation, Evaluation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.collector.dataset import write_dataset
from soliloquy_services.collector.journal import Journal
from tests.datasets import accepted_rows, written
from tests.e2e.hosted import model_service
from tests.e2e.runs import SOLILOQUY, run, said
from tests.unit.collector.collecting import numbered

CONVERSATIONS = 8


def check(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return said([SOLILOQUY, "check", str(folder), *options])


def bent(reference: Path, folder: Path, bend: Callable[[Conversation], None]) -> Path:
    """The dataset with its first conversation changed."""
    first, *rest = Dataset(reference)
    bend(first)
    return written(folder, [("accepted/00000.parquet", accepted_rows([first, *rest]))])


def test_what_a_run_kept_has_no_fault(reference: Path) -> None:
    result = check(reference, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    figures = report["figures"]
    assert (figures["conversations"], figures["faults"], report["faults"]) == (CONVERSATIONS, 0, [])
    assert figures["turns"] == figures["student_replies"] + CONVERSATIONS
    assert figures["unlike_meant"] == 0
    assert figures["realised_error_rate"] == figures["intended_error_rate"]
    assert figures["bigram_entropy"] >= 3.5
    assert sum(report["codes"]["evaluation"].values()) == figures["turns"]
    assert sum(row["turns"] for row in report["combinations"]) == figures["turns"]


def test_a_person_reads_in_words_how_often_each_label_occurs(reference: Path) -> None:
    lines = [line.split() for line in check(reference).stdout.splitlines()]
    assert any(line[0] == "evaluation" and line[-2:] == ["right", "(b)"] for line in lines)
    assert any(line[-4:] == ["no", "particular", "action", "(12)"] for line in lines)


def test_conversations_that_are_alike_are_named(reference: Path, tmp_path: Path) -> None:
    second = list(Dataset(reference))[1]

    def repeat(conversation: Conversation) -> None:
        del conversation.turns[:]
        conversation.turns.extend(second.turns)
        conversation.problem.CopyFrom(second.problem)

    copied = bent(reference, tmp_path, repeat)
    report = json.loads(check(copied, "--json").stdout)
    assert report["most_alike"]["likeness"] == 1.0
    assert second.id in report["most_alike"]["conversations"]
    assert "similar wording: 100% of it is also in" in check(copied).stdout


def test_an_answer_given_early_is_named_with_its_turn_and_evidence(reference: Path, tmp_path: Path) -> None:
    def tell(conversation: Conversation) -> None:
        answer = conversation.problem.answer
        conversation.turns[0].tutor.text += f" In the end it is {answer.value} {answer.unit}."

    result = check(bent(reference, tmp_path, tell))
    assert result.returncode == 1
    [line] = [line for line in result.stdout.splitlines() if "early answer" in line]
    assert "turn 1: gives" in line


def test_a_wrong_verdict_is_named_although_the_record_agrees_with_itself(reference: Path, tmp_path: Path) -> None:
    def praise(conversation: Conversation) -> None:
        answered = next(turn for turn in conversation.turns if turn.student.claims)
        [claim] = answered.student.claims
        answered.student.text = f"It is {3 * claim.value:.4g} {claim.unit}."
        answered.student.ClearField("claims_by")
        answered.tutor.evaluation = Evaluation.EVALUATION_CORRECT

    result = check(bent(reference, tmp_path, praise))
    assert result.returncode == 1
    assert "verdict: turn" in result.stdout


class Reader:
    """Reads the last number of a student's message as its answer, and nothing in a tutor's."""

    def __init__(self, symbol: str) -> None:
        self._symbol = symbol

    async def generate(self, request: GenerateRequest) -> Completion:
        assert request.role == "reader"
        _, _, message = request.messages[-1].text.partition('<message by="student">')
        found = [*numbers_in_digits(message.partition("</message>")[0])][-1:]
        claims = [{"Quantity": self._symbol, "Value": f"{one.value:.12g}", "Unit": ""} for one in found]
        return Completion(text=json.dumps({"Claims": claims}), model="reader", engine="test")


def test_a_model_reads_what_patterns_leave_open(reference: Path, tmp_path: Path) -> None:
    symbol = ""

    def puzzle(conversation: Conversation) -> None:
        nonlocal symbol
        answered = next(turn for turn in conversation.turns if turn.student.claims)
        [claim] = answered.student.claims
        symbol = claim.quantity
        answered.student.text = f"{claim.value:.4g}, no wait, what do I know, sooner {3 * claim.value:.4g} perhaps"
        answered.student.ClearField("claims")
        answered.student.ClearField("claims_by")
        answered.tutor.evaluation = Evaluation.EVALUATION_CORRECT

    folder = bent(reference, tmp_path, puzzle)
    assert "verdict: turn" not in check(folder).stdout
    with model_service(Reader(symbol)) as address:
        read = check(folder, "--model", "ray", "--model-address", address)
    assert "verdict: turn" in read.stdout, read.stderr
    assert read.returncode == 1


def reimported(reference: Path, folder: Path, form: str, ending: str) -> Path:
    rows, imported = folder / f"rows{ending}", folder / "imported"
    said([SOLILOQUY, "export", str(reference), "--format", form, "--out", str(rows)])
    said([SOLILOQUY, "import", str(rows), "--format", form, "--out", str(imported)])
    return imported


def test_rules_are_not_applied_to_imported_conversations_without_what_they_read(
    reference: Path, tmp_path: Path
) -> None:
    result = check(reimported(reference, tmp_path, "soliloquies", ".json"), "--json")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert (found["figures"]["conversations"], found["faults"]) == (CONVERSATIONS, [])
    without = {one["rule"]: (one["lacking"], one["conversations"]) for one in found["not_applied"]}
    assert without["steps"] == ("plan", CONVERSATIONS)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal") as journal:
        await journal.add(numbered(0), [])
        identity = {"conversations": 1}
        write_dataset(Storage(tmp_path), tmp_path / ".run", journal, run=identity, cost=lambda _: {}, topics={})
    return tmp_path


def test_a_sound_dataset_is_said_to_be_sound(folder: Path) -> None:
    result = run([SOLILOQUY, "verify", str(folder)])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{folder}: 1 accepted and 0 rejected conversations, each once\n"


def test_what_is_wrong_is_a_line_each_and_the_status_says_so(folder: Path) -> None:
    (folder / "accepted" / "00000.parquet").write_bytes(b"no shard")
    result = said([SOLILOQUY, "verify", str(folder)])
    assert (result.returncode, result.stderr) == (1, "")
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["accepted/00000.parquet"] * 2
    told = said([SOLILOQUY, "verify", str(folder), "--json"])
    assert told.returncode == 1
    assert json.loads(told.stdout) == {"dataset": str(folder), "findings": result.stdout.splitlines()}


def test_an_unfinished_dataset_is_named_with_what_finishes_it(unfinished: Path) -> None:
    told = said([SOLILOQUY, "verify", str(unfinished)])
    assert told.returncode == 1
    assert told.stdout == f"{unfinished} is not finished: run its command again to finish it\n"
