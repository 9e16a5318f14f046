"""Chooses the rows to keep from their features, which it reads from files a column at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from soliloquy.curation.features import DIALOGUE, PROBLEM, band, sketched
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.problems.sifting.alike import BANDS, RepeatSearch, colliding
from soliloquy.problems.sifting.sampling import even_shares
from soliloquy.runtime.seeds import seed

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
# Shows what is done, and with how many rows.
Tell = Callable[[str, int], None]


class Fate(IntEnum):
    """Why a row is dropped."""

    KEPT = 0
    CONTAMINATED = 1
    FAULTY = 2
    EXACT_DUPLICATE = 3
    NEAR_DUPLICATE = 4
    # Enough others are about its problem.
    PROBLEM = 5
    # Enough others of its class were drawn.
    BALANCE = 6

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The wishes of one run, beyond the policy."""

    seed: int = 0
    # Conversations about one problem; None for all.
    per_problem: int | None = None
    # Conversations in all, spread evenly over the classes of these strata.
    sample: int | None = None
    balance: Sequence[str] = ()
    splits: Splits | None = None


@dataclass(kw_only=True, slots=True)
class Fates:
    """The fate of each row, by its number in the dataset."""

    fates: npt.NDArray[np.int8]
    # The row that each repeats, or itself, and how similar both are.
    repeats: Rows
    likeness: npt.NDArray[np.float32]
    # The first row about the same problem or a near-duplicate of it.
    problems: Rows
    # The number of its part among those of the splits.
    parts: npt.NDArray[np.int8]

    @property
    def counts(self) -> dict[str, int]:
        """Returns the rows of each fate, by its word."""
        found = zip(*np.unique(self.fates, return_counts=True), strict=True)
        return {Fate(fate).word: int(count) for fate, count in found}


class Features:
    """The files of all features, in the order of the dataset."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.sizes = [pq.read_metadata(file).num_rows for file in files]
        self.rows = sum(self.sizes)

    def numbers(self, column: str) -> npt.NDArray[np.uint64]:
        return np.concatenate([each.to_numpy() for each in self._chunks(column)])

    def are_set(self, column: str) -> Marks:
        return np.concatenate([pc.not_equal(each, "").to_numpy(zero_copy_only=False) for each in self._chunks(column)])

    def classes(self, columns: Sequence[str]) -> Rows:
        """Numbers the combinations of values of these columns."""
        found = np.zeros(self.rows, np.int64)
        for column in columns:
            coded = pa.chunked_array(list(self._chunks(column))).combine_chunks().dictionary_encode()
            _, found = np.unique(found * (len(coded.dictionary) + 1) + coded.indices.to_numpy(), return_inverse=True)
        return found

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """Yields the number of the first row with the rows of each file."""
        first = 0
        for file, size in zip(self.files, self.sizes, strict=True):
            yield first, pq.read_table(file, columns=list(columns))
            first += size

    def _chunks(self, column: str) -> Iterator[pa.Array]:
        for _, table in self.tables([column]):
            yield table[column].combine_chunks()


def choose(features: Features, choice: Choice, tell: Tell) -> Fates:
    fates = np.zeros(features.rows, np.int8)
    fates[features.are_set("fault")] = Fate.FAULTY
    fates[features.are_set("contamination")] = Fate.CONTAMINATED
    repeats, likeness = _repeats(features, DIALOGUE, fates == Fate.KEPT, tell)
    every = np.arange(features.rows)
    digests = features.numbers(DIALOGUE)
    is_exact = digests == digests[repeats]
    fates[repeats != every] = Fate.NEAR_DUPLICATE
    fates[(repeats != every) & is_exact] = Fate.EXACT_DUPLICATE
    problems = _problems(features, tell)
    found = Fates(fates=fates, repeats=repeats, likeness=likeness, problems=problems, parts=np.zeros_like(fates))
    if choice.per_problem is not None:
        fates[_beyond(problems, fates == Fate.KEPT, choice.per_problem)] = Fate.PROBLEM
    if choice.sample is not None:
        fates[(fates == Fate.KEPT) & ~_sampled(features, choice, fates == Fate.KEPT)] = Fate.BALANCE
    if choice.splits:
        found.parts = _parts(features, problems, choice.splits)
    return found


def _repeats(
    features: Features, compared: str, wanted: Marks, tell: Tell, *, chained: bool = False
) -> tuple[Rows, npt.NDArray[np.float32]]:
    """Returns the row that each of the wanted rows repeats, or itself, and how similar both are."""
    own = np.arange(features.rows, dtype=np.uint64)
    bands = (np.where(wanted, features.numbers(band(compared, number)), own) for number in range(BANDS))
    searched = colliding(bands, features.rows) & wanted
    search = RepeatSearch(chained=chained)
    found, likeness = np.arange(features.rows), np.ones(features.rows, np.float32)
    columns = [*(band(compared, number) for number in range(BANDS)), sketched(compared)]
    for first, table in features.tables(columns):
        places = np.flatnonzero(searched[first : first + len(table)])
        taken = table.take(pa.array(places))
        keys = np.stack([taken[name].to_numpy() for name in columns[:-1]], axis=1)
        for place, names, sketch in zip(places.tolist(), keys, taken[columns[-1]], strict=True):
            row = first + place
            found[row], likeness[row] = search.add(row, names, sketch.values.to_numpy())
        tell(f"{compared}s compared", first + len(table))
    if chained:
        for row in np.flatnonzero(searched).tolist():
            found[row] = search.first(row)
    return found, likeness


def _problems(features: Features, tell: Tell) -> Rows:
    """Returns for each row the first about its problem: one of the same id, or with nearly the same question."""
    found = np.arange(features.rows)
    same = _first_of_each(features.numbers(PROBLEM))
    alike, _ = _repeats(features, PROBLEM, same == found, tell, chained=True)
    by_question, by_id = alike[same], _first_of_each(features.numbers("problem id"))
    # Rows are joined by either, over any number of others.
    while True:
        joined = _least_of_each(by_id, _least_of_each(by_question, found))
        if np.array_equal(joined, found):
            return found
        found = joined


def _first_of_each(values: npt.NDArray[np.uint64]) -> Rows:
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return first[inverse]


def _least_of_each(groups: Rows, values: Rows) -> Rows:
    least = np.full(len(groups), len(groups))
    np.minimum.at(least, groups, values)
    return least[groups]


def _beyond(problems: Rows, wanted: Marks, most: int) -> Rows:
    """Returns the wanted rows after the first ones about each problem."""
    rows = np.flatnonzero(wanted)
    order = np.argsort(problems[rows], kind="stable")
    _, first, counts = np.unique(problems[rows][order], return_index=True, return_counts=True)
    rank = np.arange(len(rows)) - np.repeat(first, counts)
    return rows[order][rank >= most]


def _sampled(features: Features, choice: Choice, wanted: Marks) -> Marks:
    """Draws rows evenly from the classes of the strata; most of them stay drawn when others join."""
    assert choice.sample is not None
    draws = np.empty(features.rows, np.uint64)
    for first, table in features.tables(["id"]):
        draws[first : first + len(table)] = [seed("sample", choice.seed, id) for id in table["id"].to_pylist()]
    found, classes = np.zeros(features.rows, np.bool_), features.classes(choice.balance)
    numbers, sizes = np.unique(classes[wanted], return_counts=True)
    shares = even_shares(choice.sample, dict(zip(numbers.tolist(), sizes.tolist(), strict=True)))
    for number, share in shares.items():
        rows = np.flatnonzero(wanted & (classes == number))
        found[rows[np.argsort(draws[rows])[:share]]] = True
    return found


def _parts(features: Features, problems: Rows, splits: Splits) -> npt.NDArray[np.int8]:
    """All rows about a problem go where the first of them goes."""
    names, places = list(splits.of), features.numbers("place")
    roots = np.unique(problems)
    parts = np.zeros(features.rows, np.int8)
    parts[roots] = [names.index(splits.part_at(place)) for place in places[roots].tolist()]
    return parts[problems]
