"""From scores, and perhaps evidence, to a probability: a line that was learned."""

import numpy as np

from soliloquy_papers.mathwell.criteria.features import Array

# The first columns of a line: the score by weights, and that of the trees.
SCORES = 2


def chances_on(columns: Array, line: Array) -> Array:
    """Applies a weight for each column and the offset, which comes last."""
    return np.asarray(1 / (1 + np.exp(-np.clip(columns @ line[:-1] + line[-1], -30, 30))))
