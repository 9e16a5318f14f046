"""Scaffold's rules for replies agree with labelled replies."""

import pytest

from benchmarks.scaffold_rules import SETS, judge, judge_messages

# False rejections and false acceptances of each rule.
FIRST = {
    "rationale": (0, 0),
    "arithmetic": (0, 1),
    "revealed": (0, 0),
    "questions": (0, 0),
    "summary": (0, 0),
    "off_task": (0, 0),
}
UNSEEN = {
    "rationale": (0, 1),
    "arithmetic": (1, 0),
    "revealed": (0, 0),
    "questions": (0, 0),
    "summary": (0, 0),
    "off_task": (1, 1),
}


@pytest.mark.parametrize(("name", "count", "errors"), [("first", 300, FIRST), ("unseen", 100, UNSEEN)])
def test_no_rule_rejects_or_accepts_more_replies_in_error_than_listed(
    name: str, count: int, errors: dict[str, tuple[int, int]]
) -> None:
    found = judge(SETS[name])
    assert found.keys() == errors.keys()
    for rule, (rejections, acceptances) in errors.items():
        counts = found[rule].counts
        assert counts["labelled"] == count
        assert counts["false rejections"] <= rejections, found[rule].faults
        assert counts["false acceptances"] <= acceptances, found[rule].faults


def test_few_messages_that_show_their_state_are_sent_back_and_none_that_does_not_passes() -> None:
    readings = judge_messages()
    assert (readings.counts["labelled"], readings.counts["faults"]) == (300, 23)
    assert readings.counts["false rejections"] <= 3, readings.faults
    # "The price goes from 480 down to 408 euros" is open: nothing says that 480 is given.
    assert readings.counts["false acceptances"] <= 1, readings.faults
