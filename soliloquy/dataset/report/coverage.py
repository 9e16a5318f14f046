"""Shows which problems a dataset covers, and how difficult they are."""

from collections import Counter
from collections.abc import Iterator

from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.plots import Bar, bars, card, most, shares

_DIFFICULTIES = {1: "1, the easiest", 2: "2", 3: "3, the hardest"}


def coverage(found: Findings) -> Iterator[str]:
    accepted = found.accepted
    banks = {bank: found.families(bank) for bank in sorted({bank for bank, _ in found.of_accepted.families})}
    for bank, families in banks.items():
        if families:
            occurring = {name for of, name in found.of_accepted.families if of == bank and name in families}
            covered = Counter(families[name].topic for name in occurring)
            every = Counter(family.topic for family in families.values())
            gist = f"{len(occurring):,} of {len(families):,} families of {bank} problems occur"
            listed = [Bar(topic, (covered[topic],), count) for topic, count in sorted(every.items())]
            yield card("Families", gist, bars(listed))
    if len(accepted.topics) > 1:
        gist = f"{len(accepted.topics):,} topics, {len(accepted.problems):,} problems"
        yield card("Topics", gist, bars(shares(most(accepted.topics), accepted.conversations)))
    if difficulty := _difficulty(found):
        yield difficulty


def _difficulty(found: Findings) -> str:
    graded, dropped = (_by_difficulty(found, counts.families) for counts in (found.of_accepted, found.of_rejected))
    steps = {
        f"{number} steps" if number > 1 else "1 step": n
        for number, n in sorted(found.of_accepted.steps.items())
        if number
    }
    if not graded and not steps:
        return ""
    rated = [
        Bar(name, (graded[level],), graded[level] + dropped[level])
        for level, name in _DIFFICULTIES.items()
        if graded[level] + dropped[level]
    ]
    body = bars(shares({name: graded[level] for level, name in _DIFFICULTIES.items() if graded[level]}))
    body += bars(rated, title="Accepted of those generated, by difficulty") if dropped else ""
    body += bars(shares(steps), title="Steps of the solution")
    gist = "As the bank grades its families" if graded else "By the steps of the problems' solutions"
    return card("Difficulty", gist, body)


def _by_difficulty(found: Findings, families: Counter[tuple[str, str]]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for (bank, name), count in families.items():
        if family := found.families(bank).get(name):
            counted[family.difficulty] += count
    return counted
