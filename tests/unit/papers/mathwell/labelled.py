"""The word problems that were labelled by hand, and trees that learned nothing."""

from functools import cache

import numpy as np

from benchmarks.criteria import read
from soliloquy_papers.mathwell.criteria.forest import Forest

# One leaf, which finds both labels equally likely.
NO_TREES = Forest(
    asked=np.zeros(1, dtype=np.int32),
    below=np.zeros((1, 2), dtype=np.int32),
    share=np.full(1, 0.5),
    roots=np.zeros(1, dtype=np.int32),
)


# The problems of a folder beside this file.
labelled = cache(read)
