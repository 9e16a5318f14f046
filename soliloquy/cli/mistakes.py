"""Says of a small dataset that nobody errs in it."""

from itertools import islice
from typing import TYPE_CHECKING

from soliloquy.recipes.agreement import is_mistaken
from soliloquy.recipes.recipe import find

if TYPE_CHECKING:
    from soliloquy.dataset.reading import Dataset

# The report of a larger dataset tells how many messages are wrong.
_MOST = 100
# The prompt file with the shares of mistakes, in recipes that draw what a learner knows.
_LEARNERS = "learners.toml"


def lack_of_mistakes(dataset: "Dataset", recipe: str) -> str:
    """Returns what to do if no student errs; empty if one does, or if the recipe has no students."""
    found, read = find(recipe), [*islice(dataset.conversations(), _MOST + 1)]
    has_mistakes = any(is_mistaken(turn) for conversation in read for turn in conversation.turns)
    if not found.agreeing["wrong"] or len(read) > _MOST or has_mistakes:
        return ""
    told = "No student made a mistake: generate more conversations"
    if _LEARNERS not in found.fingerprints({}):
        return told
    return (
        f"{told}, or raise `mistaken` in {_LEARNERS} (soliloquy recipes prompts {recipe} --out DIR) for --prompts DIR"
    )
