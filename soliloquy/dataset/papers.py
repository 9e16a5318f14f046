"""Compares the figures of a dataset with those that the papers published."""

from soliloquy.dataset.authored import PUBLISHED, AuthoredProblems
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share

Beside = list[tuple[str, str, str]]

_MATHWELL = {
    "ran": "functions that returned a number, %",
    "solvable": "of those, solvable, %",
    "accurate": "of the solvable, accurate, %",
    "appropriate": "of the solvable, appropriate, %",
    "all": "of those with a number, all three, %",
    "named": "problems that name their topic, %",
    "reading_grade": "Flesch-Kincaid grade",
    "dale_chall": "New Dale-Chall",
    "tokens": "tokens a question",
    "distinct_operations": "operations a problem",
    "self_similarity": "words that two questions share, %",
}


def mathdial(kept: Statistics) -> Beside:
    """Returns the rows of MathDial's table 1; none for a dataset without utterances."""
    if not kept.words:
        return []
    return [
        ("message-reply pairs", f"{kept.pairs:,}", "14,197 in 2,861 conversations"),
        ("words an utterance", f"{kept.words_per_utterance('student', 'tutor'):.1f}", "17.3"),
        ("bigram entropy", f"{kept.bigram_entropy:.2f}", "3.54"),
        ("uptake", f"{kept.uptake:.2f}", "0.83"),
        *_solved(kept),
        *(
            [("replies with the move focus", share(kept.moves["focus"], kept.moves.total()), "37 %")]
            if kept.moves
            else []
        ),
    ]


def _solved(kept: Statistics) -> Beside:
    """Returns rows only for conversations that record whether the student reached the answer."""
    resolved = kept.resolutions.total()
    outcomes = {
        "solved": ("solved by the student alone", "75 %"),
        "revealed": ("solved after the tutor revealed the answer", "14 %"),
    }
    return [
        (words, share(kept.resolutions[name], resolved), there) for name, (words, there) in outcomes.items() if resolved
    ]


def scaffold(kept: Statistics) -> Beside:
    """Returns ScaffoldLM's figures; none for a dataset without learner states."""
    if not kept.learner_states:
        return []
    drawn = {"correct": 50, "comprehension": 10, "incorrect": 20, "confusion": 5, "question": 10, "irrelevant": 5}
    replies = sum(kept.learner_states[state] for state in drawn)
    return [
        ("turns a conversation", f"{kept.turns / max(kept.conversations, 1):.1f}", "8.5 in 5,844 conversations"),
        *(
            (f"messages that show: {state}", share(kept.learner_states[state], replies), f"{there} %")
            for state, there in drawn.items()
        ),
    ]


def mathwell(written: AuthoredProblems) -> Beside:
    """Returns the figures of MATHWELL's tables for all problems written to order; none if there are none."""
    here, published = written.as_json(), PUBLISHED["MATHWELL"]
    return [
        (words, "not measured" if here[name] is None else f"{here[name]:g}", f"{published.get(name, '')}")
        for name, words in _MATHWELL.items()
        if written.ran
    ]
