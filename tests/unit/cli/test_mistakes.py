"""A small dataset in which nobody errs says so, where students may err."""

from pathlib import Path

from soliloquy.cli.mistakes import lack_of_mistakes
from soliloquy.dataset.reading import Dataset
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_PARTIAL, INTENT_RIGHT
from tests.unit.dataset.small import small
from tests.unit.training.growing import dataset


def test_a_small_dataset_without_a_mistake_says_what_brings_some(tmp_path: Path) -> None:
    one = small()
    for turn in one.turns:
        turn.student.intent, turn.tutor.evaluation = INTENT_RIGHT, EVALUATION_CORRECT
    faultless = Dataset(str(dataset(tmp_path / "faultless", [one])))
    told = lack_of_mistakes(faultless, "soliloquy")
    assert told.startswith("No student made a mistake: generate more conversations, or raise `mistaken` in learners")
    assert "learners" not in lack_of_mistakes(faultless, "mathdial")
    # A recipe that writes problems has no students.
    assert lack_of_mistakes(faultless, "mathwell") == ""
    one.turns[0].tutor.evaluation = EVALUATION_PARTIAL
    assert lack_of_mistakes(Dataset(str(dataset(tmp_path / "usual", [one]))), "soliloquy") == ""
