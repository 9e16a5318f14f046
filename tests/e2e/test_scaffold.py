"""The recipe scaffold from the command to the dataset."""

from pathlib import Path

from tests.e2e.runs import dataset, grown, records

RECIPE = "scaffold"


def test_a_run_of_scaffold_is_the_same_however_it_is_grown_and_keeps_the_whole_memory(tmp_path: Path) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    report = grown(out, problems="arithmetic", conversations=2, recipe=RECIPE, noise="real")
    assert (report["accepted"], report["failed"], report["verdicts"]["contradict"]) == (2, 0, 0)
    grown(again, problems="arithmetic", conversations=2, recipe=RECIPE, noise="real", workers=2, in_flight=3)
    assert dataset(again) == dataset(out)

    kept = records(out)
    for record in kept:
        assert record["recipe"] == RECIPE
        assert 2 <= len(record["labels"]["plan"]["questions"]) <= 7
        assert record["turns"][0]["student"]["learner_state"] == "start"
        assert record["turns"][-1]["tutor"]["learner_state"] == "end"
        assert all(record["turns"][-1]["labels"]["solved"])
        ran = [one for turn in record["turns"] for one in turn["soliloquy"]["attempts"] if one["status"] == "ok"]
        assert {one["isolation"].split("-")[0] for one in ran} <= {"gvisor"}
