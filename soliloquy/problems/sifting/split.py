"""Splits a problem file into train and test by problem, and writes a manifest."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from soliloquy.problems.files.atomic_file import atomic_file
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.problems.sifting.sampling import by_solve_rate, draw_sample, even_sample, short_bins
from soliloquy.runtime.seeds import seed

PARTS = TRAIN, SEEN, UNSEEN = "train", "test-seen", "test-unseen"
_RANGE = 2**64


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitShares:
    train: float
    # The share of the test rows whose problem does not occur in train: 1 for files with one row per problem.
    # MathDial has several dialogues per problem and uses 0.4.
    unseen: float
    seed: int

    @property
    def held_out(self) -> float:
        """The share of the problems that only the test contains."""
        return (1 - self.train) * self.unseen

    @property
    def seen(self) -> float:
        """The share of all other problems' rows that goes to the test."""
        others = 1 - self.held_out
        return (1 - self.train) * (1 - self.unseen) / others if others else 0.0


def held_out(shares: SplitShares, problems: Iterable[str]) -> set[str]:
    """Selects problems by their own hashes, so that adding problems moves no other."""
    return {problem for problem in problems if _place(shares.seed, "problem", problem) < shares.held_out}


def held_out_by_stratum(shares: SplitShares, strata: Mapping[str, str]) -> set[str]:
    """Selects the share of each stratum, to one problem; adding problems moves only those at the edge."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for problem, stratum in strata.items():
        problems[stratum].append(problem)
    return {
        problem
        for inside in problems.values()
        for problem in sorted(inside, key=lambda each: _place(shares.seed, "problem", each))[
            : round(len(inside) * shares.held_out)
        ]
    }


def drawn_for_test(shares: SplitShares, row: str) -> bool:
    """Whether the hash of a row assigns it to the test, if its problem is not held out."""
    return _place(shares.seed, "row", row) < shares.seen


def part(problem: str, draw_sample: bool, *, unseen: Container[str], learned: Container[str]) -> str:
    """`learned` are the problems with a row in train; only they can be in test-seen."""
    if problem in unseen:
        return UNSEEN
    return SEEN if draw_sample and problem in learned else TRAIN


def _place(run_seed: int, *parts: str) -> float:
    return seed("split", run_seed, *parts) / _RANGE


class CannotSplit(ValueError):
    """The file lacks the fields or rows that the split requires."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitPlan:
    shares: SplitShares
    # "difficulty" or "topic".
    stratify: str | None = None
    sample: int | None = None
    by_solve_rate: bool = False


@dataclass(kw_only=True, slots=True)
class _Overview:
    """The result of the first pass over the file, by which the second pass assigns each row."""

    strata: dict[str, str] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    rows: int = 0
    # Problems with a row in train.
    learned: set[str] = field(default_factory=set)
    digest: str = ""


def split(source: Path, folder: Path, plan: SplitPlan) -> dict[str, object]:
    """Returns the manifest; raises CannotSplit before it writes anything."""
    overview = _overview(source, plan)
    chosen = _chosen(plan, overview)
    if plan.shares.unseen < 1 and overview.rows == len(overview.strata):
        raise CannotSplit(f"{source}: --unseen requires several rows per problem: omit it for this file")
    strata = {problem: stratum for problem, stratum in overview.strata.items() if problem in chosen}
    unseen = held_out_by_stratum(plan.shares, strata) if plan.stratify else held_out(plan.shares, strata)
    names = [TRAIN, UNSEEN] if plan.shares.unseen == 1 else [*PARTS]
    counts = {name: {"rows": 0, "problems": 0} for name in names}
    problems: dict[str, set[str]] = {name: set() for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        parts = {name: files.enter_context(atomic_file(folder / f"{name}.jsonl")) for name in names}
        manifest = files.enter_context(atomic_file(folder / "split.json"))
        for line in problem_lines(source):
            if line.problem not in chosen:
                continue
            name = part(line.problem, _drawn(plan, line), unseen=unseen, learned=overview.learned)
            parts[name].write(line.text.encode())
            counts[name]["rows"] += 1
            problems[name].add(line.problem)
        for name in names:
            counts[name]["problems"] = len(problems[name])
        made = {
            "source_sha256": overview.digest,
            **asdict(plan),
            "problems": len(overview.strata),
            "sampled": len(chosen),
            **_short(plan, chosen, overview),
            "parts": counts,
        }
        manifest.write(json.dumps(made, indent=2).encode() + b"\n")
    # Remove the other parts of an earlier split.
    for name in set(PARTS).difference(names):
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
    return made


def _overview(source: Path, plan: SplitPlan) -> _Overview:
    overview = _Overview()
    content = hashlib.sha256()
    for line in problem_lines(source):
        content.update(line.text.encode())
        overview.rows += 1
        overview.strata.setdefault(line.problem, line.stratum(plan.stratify) if plan.stratify else "")
        if line.solve_rate is not None:
            overview.rates.setdefault(line.problem, line.solve_rate)
        if not _drawn(plan, line):
            overview.learned.add(line.problem)
    overview.digest = content.hexdigest()
    return overview


def _drawn(plan: SplitPlan, line: ProblemLine) -> bool:
    return plan.shares.unseen < 1 and drawn_for_test(plan.shares, line.text.strip())


def _chosen(plan: SplitPlan, overview: _Overview) -> set[str]:
    if plan.sample is None:
        return set(overview.strata)
    seed = plan.shares.seed
    if plan.by_solve_rate:
        if not overview.rates:
            raise CannotSplit("--by-solve-rate requires extra.solve_rate, from 0 to 1, which no problem has")
        return by_solve_rate(seed, overview.rates, plan.sample)
    if plan.stratify is None:
        return set(draw_sample(seed, overview.strata, plan.sample))
    return even_sample(seed, _by_stratum(overview), plan.sample)


def _short(plan: SplitPlan, chosen: set[str], overview: _Overview) -> dict[str, object]:
    if plan.sample is None or not plan.by_solve_rate:
        return {}
    return {"short_bins": short_bins(chosen, overview.rates, plan.sample)}


def _by_stratum(overview: _Overview) -> dict[str, list[str]]:
    problems: dict[str, list[str]] = {}
    for problem, stratum in overview.strata.items():
        problems.setdefault(stratum, []).append(problem)
    return problems
