"""Splits a problem file into train and test by problem, and writes a manifest."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.problems.sifting.sampling import by_solve_rate, draw_sample, even_sample, short_bins
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import seed

# Describes the parts of a split, in its folder.
DESCRIPTION = "split.json"
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
    """Returns the manifest; raises Failure before it writes anything."""
    overview = _overview(source, plan)
    chosen = _chosen(plan, overview)
    if plan.shares.unseen < 1 and overview.rows == len(overview.strata):
        raise Failure(f"{source}: --unseen requires several rows per problem: omit it for this file")
    unseen = _held_out(plan, {problem: stratum for problem, stratum in overview.strata.items() if problem in chosen})
    names = [TRAIN, UNSEEN] if plan.shares.unseen == 1 else [*PARTS]
    rows = dict.fromkeys(names, 0)
    problems: dict[str, set[str]] = {name: set() for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        parts = {name: files.enter_context(atomic_file(folder / f"{name}.jsonl")) for name in names}
        manifest = files.enter_context(atomic_file(folder / DESCRIPTION))
        for line in problem_lines(source):
            if line.problem not in chosen:
                continue
            name = TRAIN
            if line.problem in unseen:
                name = UNSEEN
            elif line.problem in overview.learned and _drawn(plan, line):
                name = SEEN
            parts[name].write(line.text.encode())
            rows[name] += 1
            problems[name].add(line.problem)
        made: dict[str, object] = {
            "source_sha256": overview.digest,
            **asdict(plan),
            "problems": len(overview.strata),
            "sampled": len(chosen),
        }
        if plan.sample is not None and plan.by_solve_rate:
            made["short_bins"] = short_bins(chosen, overview.rates, plan.sample)
        made["parts"] = {name: {"rows": rows[name], "problems": len(problems[name])} for name in names}
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
    """Whether the hash of a row assigns it to the test, if its problem is not held out."""
    shares = plan.shares
    return shares.unseen < 1 and _place(shares.seed, "row", line.text.strip()) < shares.seen


def _held_out(plan: SplitPlan, strata: Mapping[str, str]) -> set[str]:
    """Selects problems by their own hashes: adding problems moves no other, or only those at the edge of a stratum."""
    share = plan.shares.held_out
    places = {problem: _place(plan.shares.seed, "problem", problem) for problem in strata}
    if not plan.stratify:
        return {problem for problem, place in places.items() if place < share}
    found: set[str] = set()
    for inside in _by_stratum(strata).values():
        found.update(sorted(inside, key=places.__getitem__)[: round(len(inside) * share)])
    return found


def _place(run_seed: int, *parts: str) -> float:
    return seed("split", run_seed, *parts) / _RANGE


def _chosen(plan: SplitPlan, overview: _Overview) -> set[str]:
    if plan.sample is None:
        return set(overview.strata)
    if plan.by_solve_rate:
        if not overview.rates:
            raise Failure("--by-solve-rate requires extra.solve_rate, from 0 to 1, which no problem has")
        return by_solve_rate(plan.shares.seed, overview.rates, plan.sample)
    if plan.stratify is None:
        return set(draw_sample(plan.shares.seed, overview.strata, plan.sample))
    return even_sample(plan.shares.seed, _by_stratum(overview.strata), plan.sample)


def _by_stratum(strata: Mapping[str, str]) -> dict[str, list[str]]:
    problems: dict[str, list[str]] = {}
    for problem, stratum in strata.items():
        problems.setdefault(stratum, []).append(problem)
    return problems
