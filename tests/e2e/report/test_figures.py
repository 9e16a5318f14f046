"""The headline figures of a run's report are those that its shards and `soliloquy check` have."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.e2e.runs import SOLILOQUY, said


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, reference: Path) -> Path:
    return Path(shutil.copytree(reference, tmp_path_factory.mktemp("figures") / "dataset"))


@pytest.fixture(scope="module")
def headline(dataset: Path) -> str:
    assert said([SOLILOQUY, "report", str(dataset)]).returncode == 0
    page = (dataset / "report.html").read_text("utf-8")
    return re.sub(r"<[^>]+>", " ", page[page.index('<dl class="strip">') : page.index("</dl>")])


def test_the_unverified_share_is_a_count_made_from_the_shards(dataset: Path, headline: str) -> None:
    turns = [
        turn
        for shard in sorted(dataset.glob("accepted/*.parquet"))
        for turns in pq.read_table(shard, columns=["turns"])["turns"].to_pylist()
        for turn in turns
    ]
    counted = Counter(turn["verification"].removeprefix("VERIFICATION_") for turn in turns)
    verdicts = counted["PROGRAM"] + counted["STEP"] + counted["NONE"]
    assert verdicts
    assert f"{counted['NONE']} of {verdicts} verdicts on an answer are unverified" in headline


def test_faults_and_near_duplicates_are_those_of_check(dataset: Path, headline: str) -> None:
    told = json.loads(said([SOLILOQUY, "check", str(dataset), "--json"]).stdout)
    alike = len({pair["conversations"][1] for pair in told["alike"]})
    conversations = told["figures"]["conversations"]
    words = f"faults found by soliloquy check in {conversations} accepted conversations {told['figures']['faults']} "
    assert words in " ".join(headline.split()) + " "
    assert f"{alike} of {conversations} conversations nearly repeat the wording of another" in headline
