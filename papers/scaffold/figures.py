"""Compares the figures of a dataset with those of the ScaffoldLM paper."""

from soliloquy.dataset.figures import Figures
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share

_DRAWN = {"correct": 50, "comprehension": 10, "incorrect": 20, "confusion": 5, "question": 10, "irrelevant": 5}


def _beside(kept: Statistics, _: Statistics) -> list[tuple[str, str, str]]:
    shown = kept.labels["tutor.learner_state"]
    if not shown:
        return []
    replies = sum(shown[state] for state in _DRAWN)
    return [
        ("turns a conversation", f"{kept.turns / max(kept.conversations, 1):.1f}", "8.5 in 5,844 conversations"),
        *(
            (f"messages that show: {state}", share(shown[state], replies), f"{there} %")
            for state, there in _DRAWN.items()
        ),
    ]


FIGURES = Figures(
    paper="ScaffoldLM",
    beside=_beside,
    note="""\
ScaffoldLM's shares are the probabilities with which a state is drawn; here they are what the messages after the first
were found to show.""",
)
