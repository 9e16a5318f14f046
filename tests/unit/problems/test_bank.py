"""Promises of a bank as a whole: what it draws, how fast it starts, and how it knows a question again."""

import re
import time
from pathlib import Path

import pytest

from soliloquy.problems.bank.bank import FAMILIES, Bank, bank_in, bank_names, load_bank
from soliloquy.problems.bank.checks import STRIDE
from soliloquy.problems.bank.family_file import BadFamily
from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow, problem_line
from soliloquy.v1.conversation_pb2 import STEP_KIND_CONCEPT, Ending
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.growing import begun, finished

BANK = load_bank("physics")

each_bank = pytest.mark.parametrize("bank", [load_bank(name) for name in bank_names()], ids=lambda bank: bank.name)


@each_bank
def test_a_question_leads_back_to_its_problem(bank: Bank) -> None:
    for number in range(30):
        problem = bank.draw(number)
        assert bank.recognise(problem.question.replace(" ", "\n", 1)) == problem


@pytest.mark.parametrize("question", ["", "What is love?", "A sledge of mass 7.77 kg is pulled."])
def test_a_foreign_question_is_not_recognised(question: str) -> None:
    assert BANK.recognise(question) is None


def test_a_value_off_the_grid_is_not_recognised() -> None:
    question = BANK.family("echo_sounder").problem(0).question
    assert BANK.recognise(question) is not None
    assert BANK.recognise(re.sub(r"[\d.]+ ms", "31.7 ms", question)) is None


def test_hundreds_of_seeds_give_different_questions() -> None:
    assert len({BANK.draw(number).question for number in range(400)}) >= 380


@pytest.mark.parametrize("number", [0, -1, 2**64, 10**30])
def test_any_seed_has_a_problem_and_always_the_same_one(number: int) -> None:
    assert BANK.draw(number) == bank_in(FAMILIES / "physics").draw(number)


def test_a_source_names_the_problem_itself() -> None:
    problem = BANK.problem(7, 11)
    bank, family, number = re.split("[/#]", problem.source)
    assert load_bank(bank).family(family).problem(int(number)) == problem


@each_bank
def test_a_line_of_a_file_gives_back_all_of_its_problem(bank: Bank) -> None:
    for name in bank.names[:: 1 + len(bank.names) // 12]:
        family = bank.family(name)
        problem = family.problem(STRIDE)
        extra = {"source": problem.source, "difficulty": family.file.difficulty}
        row = ProblemRow.model_validate_json(problem_line(problem, extra))
        # Anybody may change a file: its values are not settled by the bank's construction.
        problem.ClearField("plan")
        assert problem_from_row(row, problem.source) == problem
        assert row.extra == extra


def test_a_bank_reads_only_the_families_it_draws_from(tmp_path: Path) -> None:
    _write(tmp_path / "mechanics" / "broken.toml", "this is no family")
    _write(tmp_path / "mechanics" / "fall.toml", _family("falling_object"))
    bank = bank_in(tmp_path)
    assert bank.family("fall").problem(3).topic == "mechanics"
    with pytest.raises(BadFamily, match=r"broken\.toml"):
        bank.family("broken")


def test_a_name_occurs_once_in_a_bank(tmp_path: Path) -> None:
    for topic in ("mechanics", "heat"):
        _write(tmp_path / topic / "fall.toml", _family("falling_object"))
    with pytest.raises(BadFamily, match="another family of this name"):
        bank_in(tmp_path)


def test_the_digest_follows_the_files_and_their_topics(tmp_path: Path) -> None:
    digests = set()
    for topic, text in (("mechanics", "falling_object"), ("heat", "falling_object"), ("heat", "pulled_load")):
        folder = tmp_path / f"{topic}-{text}"
        _write(folder / topic / "fall.toml", _family(text))
        digests.add(bank_in(folder).digest)
    assert len(digests) == 3


def test_a_bank_starts_at_once_and_knows_a_question_fast() -> None:
    """Generous to a busy machine: alone, it takes a fifth of these times."""
    question = BANK.draw(5).question
    start = time.process_time()
    bank = bank_in(FAMILIES / "physics")
    bank.draw(5)
    started = time.process_time()
    assert bank.recognise(question) is not None
    known = time.process_time()
    for number in range(200):
        bank.recognise(f"A question that is none, number {number}")
    asked = time.process_time()
    assert started - start < 0.2
    assert known - started < 1.5
    assert asked - known < 0.2


@pytest.mark.parametrize("name", ["fractions", "algebra", "statistics"])
def test_no_two_misconceptions_of_a_step_come_to_the_same(name: str) -> None:
    for number in range(60):
        for step in load_bank(name).draw(number).steps:
            values = [slip.value for slip in step.slips if slip.because and step.HasField("result")]
            assert len(set(values)) == len(values)


@pytest.mark.parametrize("name", ["arithmetic", "fractions", "statistics"])
def test_no_pupil_tells_its_misconception_in_the_names_of_a_program(name: str) -> None:
    """ "I thought the formula is more_mm / 100" is nobody's reason: a pupil has numbers and words."""
    bank = load_bank(name)
    for number in range(60):
        for step in bank.draw(number).steps:
            symbols = {known.symbol for known in (*step.inputs, step.result)} - {"x"}
            for slip in step.slips:
                said = slip.because.partition("the formula is ")[2] or slip.because.partition("remembered it as ")[2]
                assert not symbols & set(re.findall(r"[A-Za-z_]\w*", said)), slip.because


def _family(name: str) -> str:
    return BANK.files[name].read_text("utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


ENGINE = ScriptedEngine()
IN_WORDS = [
    name for name in BANK.names if all(step.outline.kind == STEP_KIND_CONCEPT for step in BANK.family(name).steps)
]


@pytest.mark.parametrize("name", IN_WORDS[::5])
async def test_it_is_solved_without_a_calculation(name: str) -> None:
    conversation = begun(0, seed=7)
    conversation.problem.CopyFrom(BANK.family(name).problem(12345))
    ended = await finished(ConversationStarted(conversation=conversation), engine=ENGINE)
    assert ended.ending == Ending.ENDING_SOLVED
    assert not any(turn.HasField("calculation") for turn in ended.turns)
