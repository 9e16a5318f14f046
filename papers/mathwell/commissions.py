"""Commissions: which topics are allowed, and how a commission reads in words."""

import re
from collections.abc import Sequence

from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import Commission, Problem
from soliloquy_papers.mathwell.labels_pb2 import Authorship, ProblemLabels

# The limits of commissions and of written problems.
POLICY = table_beside(__file__, "rules.toml")


def authorship_of(problem: Problem) -> Authorship:
    return ProblemLabels.FromString(problem.labels).authorship


def commission_of(problem: Problem) -> Commission:
    """Returns what a problem was written for; of an imported one its topic is known."""
    return authorship_of(problem).commission if problem.labels else Commission(topic=problem.topic)


def labelled(authorship: Authorship) -> bytes:
    """Returns the labels of a problem with this authorship."""
    return ProblemLabels(authorship=authorship).SerializeToString()


def commissioned(commission: Commission) -> bytes:
    """Returns the labels of a problem that is still to be written."""
    return labelled(Authorship(commission=commission))


def commission_refusal(commission: Commission) -> str:
    """Returns the reason not to write a problem for this commission; empty if there is none."""
    return topic_refusal(commission.topic) if commission.topic else ""


def topic_refusal(topic: str) -> str:
    """Returns the reason to reject a topic, which goes into a prompt and must not give instructions."""
    limits = POLICY["topic"]
    name = topic.casefold()
    if not name.strip():
        return "unfit topic: it is empty"
    if len(topic) > limits["longest"]:
        return f"unfit topic: {len(topic)} characters; {limits['longest']} are allowed"
    if odd := next((mark for mark in topic if not (mark.isalnum() or mark == " " or mark in limits["marks"])), ""):
        return f"unfit topic: {topic!r} holds {odd!r}"
    words = next((words for words in limits["refused"] if re.search(rf"\b{re.escape(words)}\b", name)), "")
    return f"unfit topic: {topic!r} says {words.strip()!r}, as if it told somebody what to do" if words else ""


def allowed_operations(commission: Commission) -> Sequence[str]:
    """Returns the operations that a problem may need; none stands for any."""
    return commission.operations or POLICY["grades"].get(str(commission.grade), ())


def describe(commission: Commission) -> str:
    """Describes a commission in words, for people."""
    about = f" about {commission.topic}" if commission.topic else ""
    year = f" for school year {commission.grade}" if commission.grade else ""
    by = f" by {join_names(allowed_operations(commission))}" if allowed_operations(commission) else ""
    return f"A word problem{about}{year}, solved{by or ' by calculation'}."


def join_names(names: Sequence[str]) -> str:
    """Joins names as in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
