"""The recipe scaffold from the command to the dataset."""

from pathlib import Path

from tests.e2e.runs import grown, records

RECIPE = "scaffold"


def test_a_run_of_scaffold_keeps_the_whole_memory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = grown(out, problems="arithmetic", conversations=1, recipe=RECIPE, noise="real")
    assert (report["accepted"], report["failed"], report["verdicts"]["contradict"]) == (1, 0, 0)
    for record in records(out):
        assert record["recipe"] == RECIPE
        assert 2 <= len(record["labels"]["plan"]["questions"]) <= 7
        assert record["turns"][0]["student"]["learner_state"] == "start"
        assert record["turns"][-1]["tutor"]["learner_state"] == "end"
        assert all(record["turns"][-1]["labels"]["solved"])
        ran = [one for turn in record["turns"] for one in turn["soliloquy"]["attempts"] if one["status"] == "ok"]
        assert {one["isolation"].split("-")[0] for one in ran} <= {"gvisor"}
