"""Promises of what a curation keeps, from the features of a small dataset; no job spreads them here."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from soliloquy.curation import features as feature_rows
from soliloquy.curation.choosing import Choice, Fate, Fates, Features, choose
from soliloquy.curation.contamination import read_benchmarks
from soliloquy.curation.features import Part
from soliloquy.curation.job import parts_of
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.mathdial.labels_pb2 import TutorLabels as Moves
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from tests.datasets import changed
from tests.unit.dataset.small import dataset, small

STORY = (
    "A farmer fills {} crates with {} apples each, drives them over the hills to the market in the next town and sells "
    "every crate for {} dollars to a baker, who makes cakes of them. How much does the farmer earn on that day?"
)
ANSWERS = ("alpha", "bravo", "carol", "delta", "extra", "fancy", "giant", "heavy", "inner", "jolly")


def talk(number: int, question: str = "", said: Sequence[str] = (), **fields: str) -> Conversation:
    """A conversation whose words no other number has."""
    made = small(number)
    made.problem.question = question or f"Question {number}: {' '.join(f'q{word}{number}' for word in ANSWERS)}?"
    made.problem.id, made.problem.topic = fields.get("problem", f"p{number}"), fields.get("topic", "motion")
    for turn, text in zip(
        made.turns, said or [f"{word} {number} by {word}{number}x" for word in ANSWERS], strict=False
    ):
        turn.tutor.text = f"{text} {' '.join(f'{word}{number}y' for word in ANSWERS) if not said else ''}"
        turn.student.text = f"Well {text}"
    return made


def features(folder: Path, talks: Sequence[Conversation], *benchmarks: Path) -> Features:
    folder.mkdir(exist_ok=True)
    read = Dataset(dataset(folder / "source", talks))
    files = []
    for part in parts_of(read):
        files.append(folder / f"{part.number}.parquet")
        pq.write_table(feature_rows.features(read, part, read_benchmarks(benchmarks)), files[-1])
    return Features(files)


def chosen(folder: Path, talks: Sequence[Conversation], *benchmarks: Path, **asked: object) -> Fates:
    return choose(features(folder, talks, *benchmarks), Choice(**asked), lambda stage, done: None)  # type: ignore[arg-type]


def fates(found: Fates) -> list[str]:
    return [Fate(fate).word for fate in found.fates]


LONG = [f"{' '.join(f'{word}{place}' for word in ANSWERS * 2)} and so on." for place in range(2)]


def test_the_first_of_those_that_say_the_same_is_kept(tmp_path: Path) -> None:
    nearly = [LONG[0].replace("giant0", "small0", 1), LONG[1]]
    found = chosen(tmp_path, [talk(1), talk(2, said=LONG), talk(3, said=LONG), talk(4, said=nearly), talk(5)])
    assert fates(found) == ["kept", "kept", "exact duplicate", "near duplicate", "kept"]
    assert found.repeats.tolist() == [0, 1, 1, 1, 4]
    assert found.likeness[2] == 1 > found.likeness[3] >= 0.8


def test_half_of_what_is_said_is_no_repetition(tmp_path: Path) -> None:
    found = chosen(tmp_path, [talk(1, said=LONG), talk(2, said=[LONG[0], " ".join(reversed(LONG[1].split()))])])
    assert fates(found) == ["kept", "kept"]


def benchmark(folder: Path, *texts: str) -> Path:
    path = folder / "benchmark.jsonl"
    path.write_text("".join(json.dumps({"problem": {"text": text}, "id": "x"}) + "\n" for text in texts), "utf-8")
    return path


@pytest.mark.parametrize(
    ("written", "fate"),
    [
        (STORY.format("1200", "40", "9"), "contaminated"),
        (STORY.format("1,200.0", "40", "9.00").upper(), "contaminated"),
        (
            STORY.format("1200", "40", "9").replace("the hills", "some hills").replace("a baker", "a cook"),
            "contaminated",
        ),
        # Another problem in the same words.
        (STORY.format("1300", "45", "8"), "kept"),
        ("He earns 9 dollars for 40 apples of 1200.", "kept"),
    ],
)
def test_a_text_of_a_benchmark_is_found_in_any_place_however_it_is_written(
    tmp_path: Path, written: str, fate: str
) -> None:
    held = benchmark(tmp_path, STORY.format("1200", "40", "9"))
    asked, told = talk(1, question=written), talk(2, said=["Look here.", f"My friend was asked: {written}"])
    assert fates(chosen(tmp_path, [asked, told, talk(3)], held)) == [fate, fate, "kept"]


def test_what_is_contaminated_takes_no_clean_repetition_with_it(tmp_path: Path) -> None:
    held = benchmark(tmp_path, STORY.format("1200", "40", "9"))
    found = chosen(tmp_path, [talk(1, STORY.format("1200", "40", "9"), said=LONG), talk(2, said=LONG)], held)
    assert fates(found) == ["contaminated", "kept"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"q": "short"}\n', r"has no text of 8 words: use a file with a problem in each row"),
        (b"[1]\n", r"benchmark .*:1: .*correct the row, or remove it"),
    ],
)
def test_a_benchmark_that_cannot_be_searched_for_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "benchmark.jsonl"
    path.write_bytes(content)
    with pytest.raises(Failure, match=complaint):
        read_benchmarks([path])


def test_conversations_about_one_problem_or_nearly_the_same_one_are_in_one_part(tmp_path: Path) -> None:
    reworded = STORY.replace("on that day", "that day").format("12", "40", "9")
    talks = [
        *(talk(number) for number in range(60)),
        talk(60, STORY.format("12", "40", "9"), problem="first"),
        talk(61, reworded, problem="second"),
        # The same id as the second, and other words.
        talk(62, "Something else that nobody has asked so far.", problem="second"),
        talk(63, STORY.format("13", "40", "9"), problem="third"),
    ]
    found = chosen(tmp_path, talks, splits=Splits.read("train=0.5,test=0.5"))
    assert fates(found) == ["kept"] * 64
    assert found.problems[60:].tolist() == [60, 60, 60, 63]
    assert len({*found.parts[60:63].tolist()}) == 1
    assert {*found.parts.tolist()} == {0, 1}


def test_a_chain_of_questions_each_near_the_last_is_one_problem(tmp_path: Path) -> None:
    words = [f"word{chr(97 + at)}" for at in range(26)]
    talks = [talk(at, " ".join(words[at:])) for at in range(8)]
    assert chosen(tmp_path, talks).problems.tolist() == [0] * 8


def test_chats_about_no_problem_are_told_apart_by_what_is_said(tmp_path: Path) -> None:
    talks = [talk(number) for number in range(3)]
    for made in talks:
        made.problem.Clear()
    assert chosen(tmp_path, talks).problems.tolist() == [0, 1, 2]


def test_a_problem_has_as_many_conversations_as_are_asked_for(tmp_path: Path) -> None:
    talks = [talk(number, problem=f"p{number % 2}") for number in range(6)]
    found = chosen(tmp_path, talks, per_problem=2)
    assert fates(found) == ["kept"] * 4 + ["problem"] * 2


def test_a_sample_is_even_over_the_strata_and_the_same_each_time(tmp_path: Path) -> None:
    talks = [
        talk(number, topic="heat" if number < 20 else "optics" if number < 25 else "waves") for number in range(60)
    ]
    of_all = features(tmp_path, talks)
    samples = [
        choose(of_all, Choice(sample=25, balance=["topic"], seed=seed), lambda stage, done: None) for seed in (1, 1, 2)
    ]
    topics = [talks[row].problem.topic for row, fate in enumerate(fates(samples[0])) if fate == "kept"]
    assert Counter(topics) == {"heat": 10, "optics": 5, "waves": 10}
    assert fates(samples[0]) == fates(samples[1]) != fates(samples[2])
    assert Counter(fates(samples[0])) == {"kept": 25, "balance": 35}


def test_the_strata_of_a_conversation_are_what_most_of_its_turns_show(tmp_path: Path) -> None:
    made = small(1)
    made.run.recipe = "mathdial"
    for turn, move in zip(made.turns, ("MOVE_PROBING", "MOVE_PROBING"), strict=True):
        turn.student.labels = b""
        turn.tutor.labels = Moves(move=move).SerializeToString()
    [of_mathdial] = features(tmp_path / "one", [made]).tables(["move", "length", "topic"])
    assert of_mathdial[1].to_pylist() == [{"move": "probing", "length": "0 to 3 turns", "topic": "motion"}]
    [ours] = features(tmp_path / "two", [small(1)]).tables(["misconception", "move"])
    assert ours[1].to_pylist() == [{"misconception": "rearrangement", "move": "1"}]


def test_imported_conversations_are_held_to_the_rules_of_their_recipe(tmp_path: Path) -> None:
    wrong = talk(2)
    wrong.turns[1].tutor.text = ""
    source = dataset(tmp_path / "source", [small(1), wrong])
    parts = [Part(0, None, 2)]
    before = feature_rows.features(Dataset(source), parts[0], read_benchmarks([]))
    assert before["fault"].to_pylist() == ["", ""]
    changed(source, lambda manifest: manifest["run"].update(imported={"format": "soliloquies"}))
    assert json.loads((source / MANIFEST).read_text("utf-8"))["run"]["imported"]
    after = feature_rows.features(Dataset(source), parts[0], read_benchmarks([]))
    assert after["fault"][1].as_py()
