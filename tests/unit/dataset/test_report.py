"""The page as it is written: whole for any dataset, and no markup but its own. A browser reads it in tests/e2e."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from soliloquy.cli.datasets import report
from soliloquy.dataset.durations import Durations
from soliloquy.dataset.report import writing
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.overview import sections
from soliloquy.dataset.report.plots import round_ticks
from soliloquy.dataset.view import columns
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Items, Value
from tests.cases import each_case
from tests.datasets import accepted_rows, rejected_rows, statistics_of, timing_rows, written
from tests.unit.dataset.labelled import labelled
from tests.unit.dataset.test_statistics import conversation

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.found[tag] += 1


def hostile() -> Conversation:
    made = conversation()
    made.persona = made.tutor_persona = made.problem.topic = made.problem.source = made.problem.question = HOSTILE
    made.turns[1].tutor.text = made.turns[1].calls[0].model = made.turns[1].calls[0].role = HOSTILE
    made.turns[1].calculation.attempts[0].execution.error = f"{HOSTILE}: no"
    return made


def page_of(folder: Path, shards: list[tuple[str, pa.RecordBatch]], **run: Any) -> str:
    report.main([str(written(folder, shards, **run))], standalone_mode=False)
    return (folder / "report.html").read_text("utf-8")


def test_no_conversation_brings_markup(tmp_path: Path) -> None:
    shards = [
        ("accepted/00000.parquet", accepted_rows([hostile(), conversation()])),
        ("rejected/00000.parquet", rejected_rows([(hostile(), [HOSTILE])])),
    ]
    tags = Tags(page_of(tmp_path, shards, recipe=HOSTILE, noise=HOSTILE, prompts_sha256={HOSTILE: HOSTILE})).found
    # The index, the script, and a block of either part.
    assert (tags["script"], tags["img"]) == (4, 0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Value(boolean=True), "True"),
        (Value(integer="12345678901234567890"), "12345678901234567890"),
        (Value(real=0.1), "0.1"),
        (Value(text="True"), "'True'"),
        (Value(complex=Complex(real=1, imaginary=-2)), "(1-2j)"),
        (Value(items=Items(items=[Value(real=1.5), Value(none=True)])), "[1.5, None]"),
        (Value(entries=Entries(entries=[Entry(key=Value(text="k"), value=Value(boolean=False))])), "{'k': False}"),
        (Value(unserialisable="function"), "<function>"),
        (Value(none=True), "None"),
        (Value(), "None"),
    ],
)
def test_a_value_is_shown_as_python_prints_it(value: Value, shown: str) -> None:
    made = conversation()
    made.turns[1].calculation.attempts[1].execution.values[0].value.CopyFrom(value)
    attempts = columns(accepted_rows([made]))["turns"]["of"]["attempts"]["of"]
    assert attempts["values"] == {"n": [0, 2], "of": {"name": ["heat", "is_right"], "shown": [shown, "False"]}}


@each_case
def test_what_only_some_recipes_have_is_in_a_block_where_it_is(recipe: str, part: dict[str, list[str]]) -> None:
    without = conversation()
    without.run.recipe = recipe
    assert columns(accepted_rows([without]))["parts"] is None
    block = columns(accepted_rows([without, labelled(conversation(), recipe)]))
    assert block["parts"] == {"n": [0, 1], "of": part}


def test_labels_are_in_a_block_for_every_turn() -> None:
    block = columns(accepted_rows([conversation(), labelled(conversation(), "soliloquy")]))
    assert block["turns"]["of"]["labels"] == {
        "action": ["8", "1", None, "8", None, None],
        "step": [None, None, None, "1", None, None],
        "state": ["in progress", "all finished", None, "in progress", None, None],
    }
    of_none = labelled(conversation(), "mathwell")
    assert columns(accepted_rows([of_none]))["turns"]["of"]["labels"] is None


def test_messages_that_were_sent_back_are_in_a_block_where_there_are_some() -> None:
    made = conversation()
    assert columns(accepted_rows([made]))["turns"]["of"]["rejected"] is None
    made.turns[0].rejected.add(role="student", rule="state", text="Hm?", because="It asks nothing.")
    turns = columns(accepted_rows([made]))["turns"]["of"]
    assert turns["rejected"]["of"] == {
        "role": ["student"],
        "rule": ["state"],
        "text": ["Hm?"],
        "because": ["It asks nothing."],
    }


@each_case
def test_a_report_draws_a_card_for_each_label_with_a_heading(recipe: str, headings: list[str]) -> None:
    counted = (statistics_of([labelled(conversation(), one)]) for one in (recipe, "mathwell"))
    drawn, otherwise = ("".join(sections(Findings(accepted=one))) for one in counted)
    for heading in headings:
        assert f"<h3>{heading}</h3>" in drawn
        assert heading not in otherwise


def test_each_lane_has_its_own_times() -> None:
    durations = Durations(
        executions={"fork": Counter({-80: 2}), "fast": Counter({-120: 7, -118: 1}), "single use": Counter()}
    )
    [plot] = sections(Findings(durations=durations))
    names = re.findall(r'<text class="unit" x="0"[^>]*>([^<]*)', plot)
    assert names == ["fast lane: 8, half within 1.03 ms", "fork lane: 2, half within 10.3 ms"]


@pytest.mark.parametrize(
    "shards",
    [
        [],
        [("accepted/00000.parquet", accepted_rows([]))],
        [("accepted/00000.parquet", accepted_rows([Conversation(id="c1")]))],
        [("rejected/00000.parquet", rejected_rows([(conversation(), ["verdict: no"])]))],
        [("timings/00000.parquet", timing_rows([conversation()], begun=1_000, apart=1))],
    ],
)
def test_a_dataset_that_holds_little_is_shown(tmp_path: Path, shards: list[tuple[str, pa.RecordBatch]]) -> None:
    assert page_of(tmp_path, shards).endswith("</body>\n</html>\n")


@each_case
def test_a_dataset_of_another_making_says_so(tmp_path: Path, run: dict[str, Any], said: str) -> None:
    folder = written(tmp_path, [("accepted/00000.parquet", accepted_rows([conversation()]))])
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"run": run}), "utf-8")
    report.main([str(folder)], standalone_mode=False)
    assert said in (folder / "report.html").read_text("utf-8")
    assert "soliloquy generate" not in (folder / "README.md").read_text("utf-8")


def test_of_too_many_conversations_some_are_there_to_read_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_BROWSED", 10)
    page = page_of(tmp_path, [("accepted/00000.parquet", accepted_rows([conversation()] * 25))])
    assert "25 of 25 generated conversations accepted" in page
    assert "The figures count all conversations; the page holds 9 of them, evenly spaced." in page


@pytest.mark.parametrize(("high", "ticks"), [(1, [0, 1]), (2, [0, 1, 2]), (3, [0, 1, 2, 3]), (5, [0, 2, 4])])
def test_ticks_of_a_count_are_whole_numbers(high: int, ticks: list[int]) -> None:
    assert round_ticks(0, high, 4) == ticks
