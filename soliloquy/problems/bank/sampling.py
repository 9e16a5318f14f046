"""Samples of a bank: topic after topic, family after family, and no problem twice."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import gcd

from soliloquy.problems.bank.bank import Bank, load_bank
from soliloquy.problems.bank.rows import Lines
from soliloquy.runtime.seeds import draw, seed

# Problems that a process writes at a time.
BATCH = 4000
# Fewer are written sooner than further processes are started.
SHARED_FROM = 10_000

# A family's name, and the number of a problem in it.
Pick = tuple[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    bank: str
    seed: int
    # Empty where any will do.
    topics: Collection[str] = ()
    difficulties: Collection[int] = ()


def picks(wanted: Wanted) -> Iterator[Pick]:
    """What a sample consists of, as long as there are problems left that it has not."""
    bank = load_bank(wanted.bank)
    rng = draw(wanted.seed, "sample", bank.name)
    by_topic = {topic: rng.sample(names, len(names)) for topic, names in bank.by_topic.items()}
    chosen = [topic for topic in by_topic if not wanted.topics or topic in wanted.topics]
    turns = deque(_of_topic(bank, by_topic[topic], wanted) for topic in rng.sample(chosen, len(chosen)))
    while turns:
        topic = turns.popleft()
        pick = next(topic, None)
        if pick is not None:
            yield pick
            turns.append(topic)


def lines(wanted: Wanted, size: int, *, processes: int) -> Iterator[bytes]:
    """The lines of a problem file with so many problems of the sample, a batch at a time."""
    batches = _batches(islice(picks(wanted), size))
    if size < SHARED_FROM or processes < 2:
        yield from (_written(wanted.bank, batch) for batch in batches)
        return
    with ProcessPoolExecutor(processes) as pool:
        under_way: deque[Future[bytes]] = deque()
        for batch in batches:
            under_way.append(pool.submit(_written, wanted.bank, batch))
            if len(under_way) > 2 * processes:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _of_topic(bank: Bank, names: Sequence[str], wanted: Wanted) -> Iterator[Pick]:
    """One problem of each family, another of each, and so on; a family leaves after its last."""
    families = [bank.family(name) for name in names]
    orders = [
        (family.name, _order(family.count, seed(wanted.seed, family.name)))
        for family in families
        if not wanted.difficulties or family.difficulty in wanted.difficulties
    ]
    left = deque(orders)
    while left:
        name, numbers = left.popleft()
        number = next(numbers, None)
        if number is not None:
            yield name, number
            left.append((name, numbers))


def _order(size: int, chance: int) -> Iterator[int]:
    """The numbers below a size, each once and far from the one before it."""
    start, stride = chance % size, chance // size % size
    while gcd(stride, size) != 1:
        stride += 1
    for place in range(size):
        yield (start + place * stride) % size


def _batches(chosen: Iterator[Pick]) -> Iterator[list[Pick]]:
    while batch := list(islice(chosen, BATCH)):
        yield batch


def _written(bank: str, batch: Sequence[Pick]) -> bytes:
    # Family by family, which is a fifth faster: all that one of them needs is at hand.
    written = {pick: _lines(bank, pick[0]).line(pick[1]) for pick in sorted(batch)}
    return b"".join([written[pick] for pick in batch])


@cache
def _lines(bank: str, name: str) -> Lines:
    return Lines(family=load_bank(bank).family(name))
