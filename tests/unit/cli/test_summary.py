"""Checks that the summary of a run has words for what occurred, and names what to do with the dataset."""

from soliloquy.cli.summary import next_commands, summary

REPORT = {
    "requested": 20,
    "accepted": 20,
    "rejected": 2,
    "failed": 0,
    "enrichment": {},
    "unfit": {},
    "turns": 1_120,
    "python_turns": 60,
    "executions": {"ok": 60, "timeout": 1},
    "parse": {"strict": 400, "repaired": 3},
    "verdicts": {"agree": 50, "contradict": 0},
    "verification": {"none": 2, "program": 40, "step": 20},
    "tokens": {"prompt": 62_230, "completion": 4_375},
    "cost": 0.0,
    "seconds": 6.4,
}


def test_a_summary_is_in_words_and_leaves_out_what_did_not_occur() -> None:
    assert summary(REPORT, "mine") == {
        "conversations": "20 accepted of 20, 2 rejected",
        "turns": "1,120, 60 with a calculation",
        "programs": "60 ran, 1 timeout",
        "verdicts": "40 by a program, 20 by a step worked through before, 2 unverified",
        "tutor and program": "50 agree",
        "model's answers": "403, 3 repaired",
        "tokens": "62,230 read, 4,375 written",
        "duration": "6.4 s",
        "dataset": "mine",
    }


def test_the_next_commands_can_be_pasted_whatever_the_folder_is_called() -> None:
    assert next_commands("mine", rejected=0) == "Read it: soliloquy show mine\nSee its figures: soliloquy report mine"
    assert "show 'my äpples' --rejected" in next_commands("my äpples", rejected=1)
