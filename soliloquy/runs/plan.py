"""A plan says what a run is to do; its identity says what the dataset depends on."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.files.problem_file import ProblemFile
from soliloquy.problems.solving.independent_programs import PROGRAM
from soliloquy.problems.sources import ProblemSource, is_file, problem_source
from soliloquy.problems.use import use_of
from soliloquy.recipes.checks import CHECKS
from soliloquy.recipes.recipe import checked_prompts, find
from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.costs import account_cost
from soliloquy.runtime.model.prices import Price
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.spending import NO_BUDGET, Budget
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.weights import digest_of
from soliloquy.standin.speakers import FORESEEN, speakers_of, why_unusable
from soliloquy.v1.runs_pb2 import Run

# The values of the parts that an identity leaves out, so that runs without them keep their ids.
_ABSENT: dict[str, Any] = {
    "verified": False,
    "programs": False,
    "checks": [],
    "prompt_settings": {},
    "best_of": {},
    "language": "",
}


class NoneUsable(Failure):
    """The recipe can use none of the problems."""


class Unplayable(Failure):
    """The scripted model can play none of the run's conversations."""


class Unranked(Failure):
    """Several versions of an answer are wanted where no check ranks them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    recipe: str
    problems: str
    problems_sha256: str
    models: Models
    prompts_sha256: dict[str, str]
    # The prompt files that differ from the recipe's own, by name.
    prompts: Mapping[str, str] = field(default_factory=dict)
    # The language of problems and messages; empty for English.
    language: str = ""
    conversations: int
    seed: int
    noise: str
    max_turns: int
    max_attempts: int
    enrich: bool
    # Whether independent programs check the answers of the problems.
    programs: bool = False
    # Whether a verdict that rests on nothing rejects its conversation.
    verified: bool = False
    # The file of the classifiers that judge written problems.
    classifiers: Path | None = None
    # As a run file has them; the manifest keeps them.
    options: Mapping[str, Any] = field(default_factory=dict)
    # The rest changes how fast a run is and nothing in its dataset.
    workers: int
    in_flight: int
    latency: float
    # A folder in which requests are recorded with their answers.
    record: Path | None = None
    # Whether to wait on for an endpoint that does not answer.
    wait: bool = False
    # The most that the run may spend.
    budget: Budget = NO_BUDGET

    @classmethod
    def of(
        cls,
        recipe: str,
        source: ProblemSource,
        *,
        problems: str,
        models: Models,
        prompts: Mapping[str, str] = {},
        enrich: bool = False,
        **settings: Any,
    ) -> Self:
        """Plans a run of these problems; raises BrokenPrompt or Unranked."""
        found = find(recipe)
        for role, members in models.roles.items():
            if role not in found.ranked and any(member.best_of > 1 for member in members):
                raise Unranked(f"roles.{role}: nothing in the recipe {recipe} ranks its answers: remove best_of")
        return cls(
            recipe=recipe,
            problems_sha256=source.digest,
            prompts_sha256=checked_prompts(recipe, prompts),
            prompts=prompts,
            enrich=enrich or found.always_enriched,
            programs=is_file(problems) and found.commissioned is None and _can_solve(models),
            problems=problems,
            models=models,
            **settings,
        )

    def identity(self) -> dict[str, Any]:
        """Returns everything that the dataset depends on: runs with the same identity make the same files."""
        return {
            "soliloquy": installed_version(),
            "recipe": self.recipe,
            **self.models.identity(),
            "conversations": self.conversations,
            "seed": self.seed,
            "noise": self.noise,
            "max_turns": self.max_turns,
            "max_attempts": self.max_attempts,
            "enrich": self.enrich,
            **({"verified": True} if self.verified else {}),
            **({"programs": True} if self.programs else {}),
            "classifiers_sha256": digest_of([self.classifiers]) if self.classifiers else "",
            "problems_sha256": self.problems_sha256,
            "prompts_sha256": self.prompts_sha256,
            **({"language": self.language} if self.language else {}),
            **({"checks": sorted(CHECKS.claims)} if CHECKS.claims else {}),
        }

    def run(self, execution: str = "") -> Run:
        identity = self.identity()
        # The number of conversations is left out: a longer run begins with the conversations of a shorter one.
        source = {name: value for name, value in identity.items() if name != "conversations"}
        return Run(
            id=digest(json.dumps(source, sort_keys=True)),
            recipe=self.recipe,
            seed=self.seed,
            in_flight=self.in_flight,
            max_turns=self.max_turns,
            max_attempts=self.max_attempts,
            enrich=self.enrich,
            classifiers=identity["classifiers_sha256"],
            verified=self.verified,
            programs=self.programs,
            growing=execution,
            prompts=self.prompts,
            language=self.language,
        )

    def cost(self, tokens: Mapping[str, Mapping[str, float]]) -> dict[str, float | None]:
        """Returns what the tokens of each account cost at the prices of its endpoint; None where nobody knows."""
        costs = {account: account_cost(self.models, account, used) for account, used in tokens.items()}
        return {account: None if cost is None else round(cost, 6) for account, cost in costs.items()}

    def prices(self) -> dict[str, Any]:
        """Returns the price of each endpoint, with the day on which it held; None where nobody knows it."""
        return {
            name: None if endpoint.price is None else _price_json(endpoint.price)
            for name, endpoint in self.models.used.items()
            if endpoint.engine != "scripted"
        }


def _price_json(price: Price) -> dict[str, Any]:
    told = {name: value for name, value in asdict(price).items() if value is not None}
    return told | ({"as_of": price.as_of.isoformat()} if price.as_of else {})


def _can_solve(models: Models) -> bool:
    return all(endpoint.engine != "scripted" for endpoint in models.asked("codegen", PROGRAM))


def problems_of(
    problems: str,
    recipe: str,
    prompts: Mapping[str, str] = {},
    tell: Callable[[str], None] = lambda line: None,
    language: str = "",
) -> ProblemSource:
    """Opens a bank, or the problems of a file that the recipe can use; if it writes problems, they are its examples.

    Tells that it writes problems, or how many problems of a file are left out and why. Raises Failure.
    """
    source, wanted = problem_source(problems, language), find(recipe)
    if wanted.commissioned is None or wanted.topics is None:
        return _usable(source, recipe, tell) if isinstance(source, ProblemFile) else source
    tell(f"{recipe} writes its own problems: those of {problems} are only examples in its prompts")
    return CommissionSource(examples=source, topics=wanted.topics(prompts), commissioned=wanted.commissioned)


def _usable(source: ProblemFile, recipe: str, tell: Callable[[str], None]) -> ProblemSource:
    use = use_of(source.problems, find(recipe).refuses)
    if not use.usable:
        raise NoneUsable(f"the recipe {recipe} cannot work with these problems: {use}")
    if use.refused:
        tell(f"{recipe}: {use}")
    return ProblemFile(problems=use.usable)


def require_playable(models: Models, source: ProblemSource, recipe: str, language: str = "") -> None:
    """Raises Unplayable if the scripted model answers everything and can play nothing of it."""
    if not models.is_scripted:
        return
    if language:
        raise Unplayable(
            f"the scripted model speaks English alone, not {language}: ask another model, e.g. with --model"
        )
    if not speakers_of(recipe):
        raise Unplayable(f"the scripted model knows no prompt of the recipe {recipe}: ask another model")
    refuses = partial(why_unusable, recipe)
    if isinstance(source, ProblemFile) and len(source.problems) <= FORESEEN and all(map(refuses, source.problems)):
        use = use_of(source.problems, refuses)
        raise Unplayable(f"the scripted model can play none of these problems as {recipe} ({use}): ask another model")


def difference(kept: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Returns the first difference between two identities in words; empty if they are equal."""
    for name in wanted | _ABSENT:
        before, value = (identity.get(name, _ABSENT.get(name)) for identity in (kept, wanted))
        if before == value:
            continue
        if isinstance(value, dict):
            former = before or {}
            changed = sorted(key for key in value.keys() | former.keys() if value.get(key) != former.get(key))
            return f"{name.removesuffix('_sha256')} {', '.join(changed)} changed since"
        if name.endswith("_sha256"):
            return f"its {name.removesuffix('_sha256')} differ"
        return f"{name} {_shown(before)}, not {_shown(value)}"
    return ""


def _shown(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
