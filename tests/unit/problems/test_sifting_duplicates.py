"""Promises of near-duplicate removal: what is alike goes, what differs where it matters stays."""

import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.problems.sifting.alike import banding
from soliloquy.problems.sifting.near_duplicates import DedupeCounts, dedupe, repeats, shingles
from soliloquy.problems.sifting.sampling import DUPLICATES
from tests.cases import each_case

TROLLEY = (
    "A shopper in a market pushes a fully loaded trolley of 20 kg along the aisle with a horizontal force of 50 N. "
    "Neglect the friction of its wheels. What is the acceleration of the trolley?"
)
REWORDED = TROLLEY.replace("a fully loaded trolley", "the fully loaded trolley")
OTHER_NUMBER = TROLLEY.replace("50 N", "60 N")
OTHER = "How long does a stone fall that is dropped from a bridge of 20 m? Neglect the air and use 9.81 m/s²."


def problem_file(path: Path, *questions: str) -> Path:
    rows = [{"id": f"p{at}", "question": text, "solution": "So."} for at, text in enumerate(questions)]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def sifted(folder: Path, *questions: str) -> list[str]:
    """The ids of the problems kept."""
    source, out = problem_file(folder / "all.jsonl", *questions), folder / "kept.jsonl"
    counts = dedupe(source, out)
    kept = [json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()]
    assert counts == DedupeCounts(read=len(questions), kept=len(kept), dropped=len(questions) - len(kept))
    return kept


def jaccard(first: str, second: str) -> float:
    """Worked out anew, without hashes."""
    words = [text.lower().replace(",", "").replace(".", "").replace("?", "").split() for text in (first, second)]
    one, other = ({tuple(each[at : at + 3]) for at in range(len(each) - 2)} for each in words)
    return len(one & other) / len(one | other)


def test_the_first_of_those_alike_is_kept(tmp_path: Path) -> None:
    assert sifted(tmp_path, OTHER, TROLLEY, REWORDED) == ["p0", "p1"]


@pytest.mark.parametrize(("sign", "kept"), [("+", ["first", "other words"]), ("-", ["first", "again", "other words"])])
def test_one_story_with_other_numbers_is_one_problem_if_its_program_calculates_in_the_same_way(
    tmp_path: Path, sign: str, kept: list[str]
) -> None:
    story = "Uma has {} red shells in a box, and {} white shells on her desk. How many shells are that in all?"
    words = "On Monday {} children come to the club, and {} come on Tuesday. How often does a child come?"
    rows = [
        {"id": "first", "question": story.format(14, 8), "solution": "def solution():\n    return 14 + 8"},
        {"id": "again", "question": story.format(31, 5), "solution": f"def solution():\n    return 31 {sign} 5"},
        {"id": "other words", "question": words.format(14, 8), "solution": "def solution():\n    return 14 + 8"},
    ]
    source, out = tmp_path / "all.jsonl", tmp_path / "kept.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert dedupe(source, out).dropped == 0
    counts = dedupe(source, out, other_numbers=True)
    assert counts.told_again == counts.dropped == len(rows) - len(kept)
    assert [json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()] == kept


def test_numbers_make_a_problem_another_one(tmp_path: Path) -> None:
    assert sifted(tmp_path, TROLLEY, OTHER_NUMBER) == ["p0", "p1"]


@each_case
def test_writing_makes_no_difference_and_arithmetic_does(first: str, second: str, alike: bool) -> None:
    assert np.array_equal(shingles(first), shingles(second)) is alike


def test_what_is_dropped_draws_nothing_else_after_it(tmp_path: Path) -> None:
    """Each is near the one before it, but the last is not near the first, which is the one that is kept."""
    words = [f"word{chr(97 + at)}" for at in range(26)]
    chain = [" ".join(words[at:]) for at in range(6)]
    assert all(jaccard(*pair) >= 0.8 for pair in pairwise(chain))
    assert jaccard(chain[0], chain[4]) >= 0.8 > jaccard(chain[0], chain[5])
    assert sifted(tmp_path, *chain) == ["p0", "p5"]


def test_nearly_all_pairs_at_the_threshold_are_found_and_none_below_it() -> None:
    draws = random.Random(5)
    words = [f"w{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(600)]
    found = {True: 0, False: 0}
    wanted = {True: 0, False: 0}
    for _ in range(300):
        text = draws.sample(words, 60)
        changed = text.copy()
        for at in draws.sample(range(60), draws.choice([1, 2, 4, 6])):
            changed[at] = "other"
        first, second = " ".join(text), " ".join(changed)
        alike = jaccard(first, second) >= 0.8
        _, repeated = repeats([first, second])
        wanted[alike] += 1
        found[alike] += repeated
    assert min(wanted.values()) > 50
    assert found[False] == 0
    assert found[True] >= 0.98 * wanted[True]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
def test_the_index_finds_what_the_policy_asks_for(threshold: float) -> None:
    bands, rows = banding(threshold)
    assert bands <= DUPLICATES.most_bands
    assert 1 - (1 - threshold**rows) ** bands >= DUPLICATES.recall


def test_the_same_file_is_always_sifted_alike(tmp_path: Path) -> None:
    draws = random.Random(1)
    questions = [" ".join(draws.choices(["cat", "dog", "runs"], k=5)) for _ in range(300)]
    first = sifted(tmp_path, *questions)
    assert sifted(tmp_path, *questions) == first
    assert 0 < len(first) < 300


def test_kept_lines_stand_as_they_stood(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    line = '{"solution":"So." , "question":"Ω?","extra": {"b":1,"a":[ ]}}'
    source.write_text(f"{line}\n\n{line}", "utf-8")
    dedupe(source, source)
    assert source.read_text("utf-8") == f"{line}\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "contains no problem"),
        (b'{"question": "Why?"}\n{"q": 1}\n', ":2: question: expected text"),
        (b"[]\n", "all.jsonl is not JSONL: convert it with .* --out .*all-lines.jsonl"),
        (b"{\n", ":1: text: not JSON"),
        (b"\xe9\n", ":1: text: holds the byte 0xE9"),
    ],
)
def test_a_file_that_is_no_problem_file_is_refused_and_nothing_written(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    source = tmp_path / "all.jsonl"
    source.write_bytes(content)
    with pytest.raises(UnreadableSource, match=complaint):
        dedupe(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]
