"""Checks that the summary of a run has words for what occurred, and names what to do with the dataset."""

from soliloquy.cli.summary import next_commands, summary
from soliloquy.runtime.model.spending import summed

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
    "unpriced": [],
    "spent": summed([]),
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


def test_what_was_billed_is_told_with_what_got_lost_and_an_unknown_cost_is_said_to_be_unknown() -> None:
    account = {"requests": 450, "prompt": 70_000, "cached": 14_000, "completion": 5_000, "reasoning": 900}
    billed = dict.fromkeys(("cache_write", "dollars", "unpriced"), 0) | account
    spent = summed([billed | {"outcome": "answered", "dollars": 0.25}, billed | {"outcome": "lost", "requests": 2}])
    told = summary(REPORT | {"cost": None, "unpriced": ["tutor"], "spent": spent}, "mine")
    assert told["cost"].startswith("unknown, no price is known for tutor: set prompt_price")
    assert told["billed"] == (
        "450 requests, 70,000 read (20% from a cache), 5,000 written (900 of them thoughts), 0.25 USD; "
        "2 more without an answer, 70,000 tokens at most"
    )


def test_the_next_commands_can_be_pasted_whatever_the_folder_is_called() -> None:
    assert next_commands("mine", rejected=0) == "Read it: soliloquy show mine\nSee its figures: soliloquy report mine"
    assert "show 'my äpples' --rejected" in next_commands("my äpples", rejected=1)
