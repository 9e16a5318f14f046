"""The figures of a dataset in the terms of the papers, beside theirs."""

from soliloquy.dataset.authored import PUBLISHED, AuthoredProblems
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tables import share

Beside = list[tuple[str, str, str]]

_WRITTEN = {
    "ran": "functions that returned a number, in %",
    "solvable": "of these solvable",
    "accurate": "of the solvable accurate",
    "appropriate": "of the solvable appropriate",
    "all": "of those with a number all three",
    "named": "that name their topic",
    "reading_grade": "Flesch-Kincaid grade",
    "dale_chall": "New Dale-Chall",
    "tokens": "tokens a question",
    "distinct_operations": "operations a problem",
    "self_similarity": "words that two questions share, in %",
}


def mathdial(kept: Statistics) -> Beside:
    """Those of its table 1; nothing where nobody says anything."""
    if not kept.words:
        return []
    return [
        ("pairs of a message and its reply", f"{kept.pairs:,}", "14,197 in 2,861 conversations"),
        ("words an utterance", f"{kept.words_per_utterance('student', 'tutor'):.1f}", "17.3"),
        ("bigram entropy", f"{kept.bigram_entropy:.2f}", "3.54"),
        ("uptake", f"{kept.uptake:.2f}", "0.83"),
        *((words, here, there) for words, here, there in _solved(kept)),
        *(
            [("replies that make the move focus", share(kept.moves["focus"], kept.moves.total()), "37 %")]
            if kept.moves
            else []
        ),
    ]


def _solved(kept: Statistics) -> Beside:
    """Of conversations that say whether the student came to the answer, and how."""
    resolved = kept.resolutions.total()
    of = {
        "solved": ("solved by the student itself", "75 %"),
        "revealed": ("solved after the tutor had told the answer", "14 %"),
    }
    return [(words, share(kept.resolutions[name], resolved), there) for name, (words, there) in of.items() if resolved]


def scaffold(kept: Statistics) -> Beside:
    """What its conversations come to; nothing for one that has no learner states."""
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
    """Those of its tables, of all that was written to order; nothing where nothing was."""
    here, published = written.as_json(), PUBLISHED["MATHWELL"]
    return [
        (words, "not measured" if here[name] is None else f"{here[name]:g}", f"{published.get(name, '')}")
        for name, words in _WRITTEN.items()
        if written.ran
    ]
