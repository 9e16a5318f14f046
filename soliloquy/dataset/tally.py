"""Counts the rows of a dataset for its manifest."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import (
    ANSWERED_BY,
    below,
    call_counts,
    named,
    uncounted_enrichments,
    value_counts,
)
from soliloquy.dataset.enrichments import CountedEnrichments
from soliloquy.dataset.labelling import installed, label_values
from soliloquy.dataset.mending_counts import MendingCounts
from soliloquy.dataset.program_verdicts import verdicts
from soliloquy.dataset.recipe_counts import recipe_counts
from soliloquy.dataset.rows import recipe_of
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.runtime.model.costs import COST, KINDS, account, add_use, as_told
from soliloquy.v1.conversation_pb2 import Evaluation

_COUNTS = (
    *("accepted", "rejected", "enrichment", "discarded", "unfit", "turns", "python_turns"),
    *("executions", "parse", "verdicts", "verification", "measures"),
    *("sent_back", "mended", "rewinds", "mending", "opinions", "answers", "asked_again"),
)
# Counts that need the recipe's rules and labels.
COUNTED_BY_RECIPES = ("discarded", "measures", "opinions", "verdicts")
# The field of an Opinion, at the end of a label's name.
_RULING = ".ruling"
# The names that tell one account of tokens from another: a role, where need be with its endpoint, the model and how
# answers were read.
_ACCOUNT = ("account", "model", "outcome")
# By the names that the columns have.
_LETTERS = {Evaluation.Name(code): letter for letter, code in EVALUATIONS.items()}


@dataclass
class Tally:
    """Counts everything except times; the same dataset always has the same tally."""

    accepted: int = 0
    rejected: int = 0
    # Problems with a detailed solution, and problems that kept the plain one although enrichment was asked for.
    enrichment: Counter[str] = field(default_factory=Counter)
    # Samples that the planner discarded, and reasons why problems were unfit for the recipe.
    discarded: Counter[str] = field(default_factory=Counter)
    unfit: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    python_turns: int = 0
    executions: Counter[str] = field(default_factory=Counter)
    parse: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=lambda: Counter(agree=0, contradict=0))
    # The tutor's verdicts by what supports them.
    verification: Counter[str] = field(default_factory=lambda: Counter(program=0, step=0, none=0))
    # The counts of MendingCounts, by "role: rule", role, rule, and prompt or completion.
    sent_back: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    rewinds: Counter[str] = field(default_factory=Counter)
    mending: Counter[str] = field(default_factory=Counter)
    # Answers by prompt, and those that were asked for again, by prompt and rule, or "unusable".
    answers: Counter[str] = field(default_factory=Counter)
    asked_again: Counter[str] = field(default_factory=Counter)
    # The rulings of judges in the labels, by the label and the ruling.
    opinions: Counter[str] = field(default_factory=Counter)
    # The recipe's own measures.
    measures: Counter[str] = field(default_factory=Counter)
    # Tokens by account and kind, also by model and outcome; calls by role, engine, model and adapter's digest.
    tokens: defaultdict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    accounts: defaultdict[tuple[str, ...], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    answered: Counter[tuple[str, ...]] = field(default_factory=Counter)
    enrichments: CountedEnrichments = field(default_factory=CountedEnrichments)

    @classmethod
    def from_json(cls, counts: dict[str, Any], known: Container[str]) -> Self:
        """Restores a tally from `as_json`, to continue counting."""
        tally = cls(enrichments=CountedEnrichments(known=known))
        for name, used in counts["tokens"].items():
            add_use(tally.tokens[name], used)
        for row in map(dict, counts.get("accounts", ())):
            add_use(tally.accounts[tuple(row.pop(name) for name in _ACCOUNT)], row)
        tally.answered.update({tuple(row[name] for name in ANSWERED_BY): row["calls"] for row in counts["models"]})
        for name in _COUNTS:
            if isinstance(held := counts.get(name, 0), dict):
                getattr(tally, name).update(held)
            elif held:
                setattr(tally, name, held)
        return tally

    def add(self, batch: pa.RecordBatch, *, accepted: bool) -> None:
        if accepted:
            self.accepted += len(batch)
        else:
            self.rejected += len(batch)
        unfit = batch["ending_reason"].filter(pc.equal(batch["ending"], "ENDING_UNFIT"))
        self.unfit.update(reason.partition(":")[0] for reason in unfit.to_pylist())
        problems, turns = batch["problem"], pc.list_flatten(batch["turns"])
        self._add_enrichments(problems, below(batch["run"], "enrich"))
        if (own := recipe_counts(recipe_of(batch))) and own.measures:
            self.measures.update(own.measures(batch))
        for name, rulings in label_values(batch):
            if name.endswith(_RULING):
                told = value_counts(rulings).items()
                self.opinions.update({f"{name.removesuffix(_RULING)}: {ruling}": count for ruling, count in told})
        self.turns += len(turns)
        self._add_mending(batch)
        self.verification.update(value_counts(named(below(turns, "verification"), "VERIFICATION_")))
        self._add_calls(below(turns, "calls"))
        self._add_calls(below(pc.list_flatten(batch["rewinds"]), "turns", "calls"))
        recipes = below(batch["run"], "recipe").fill_null("").take(pc.list_parent_indices(batch["turns"]))
        self._add_calculations(turns, recipes)

    def _add_mending(self, batch: pa.RecordBatch) -> None:
        found = MendingCounts()
        found.add(batch)
        taken_back = below(pc.list_flatten(batch["rewinds"]), "turns")
        for turns in (pc.list_flatten(batch["turns"]), taken_back):
            rejected = below(turns, "rejected")
            for (prompt, rule), count in value_counts(below(rejected, "prompt"), below(rejected, "rule")).items():
                self.asked_again[f"{prompt}: {rule}"] += count
        self.sent_back.update({f"{role}: {rule}": count for (role, rule), count in found.sent_back.items()})
        self.mended.update(found.mended)
        self.rewinds.update(found.rewinds)
        self.mending.update(found.mending_tokens())

    def _add_enrichments(self, problems: pa.Array, asked_for: pa.Array) -> None:
        enrichments = below(problems, "enrichment")
        because = below(enrichments, "plain_because")
        # An enrichment may hold nothing but programs.
        asked_for = pc.or_kleene(asked_for, pc.equal(pc.list_value_length(pc.struct_field(enrichments, "programs")), 0))
        kinds = pc.if_else(pc.equal(because, ""), "detailed", "plain")
        self.enrichment.update(value_counts(pc.if_else(asked_for, kinds, None)))
        uncounted = uncounted_enrichments(problems, self.enrichments)
        self._add_calls(below(uncounted, "calls"))
        for one in _discarded(uncounted):
            self.discarded[one["because"]] += one["samples"]

    def _add_calculations(self, turns: pa.Array, recipes: pa.Array) -> None:
        calculations = below(turns, "calculation")
        self.python_turns += len(calculations) - calculations.null_count
        statuses = below(calculations, "attempts", "execution", "status").fill_null("STATUS_UNSPECIFIED")
        self.executions.update({_plain(name, "STATUS_"): count for name, count in value_counts(statuses).items()})
        evaluations = below(turns, "tutor", "evaluation").fill_null("EVALUATION_UNSPECIFIED")
        # A turn that was given up before its reply contradicts nothing, and an overruled program decides nothing.
        is_heard = pc.and_not(below(turns, "tutor").is_valid(), below(calculations, "overruled").fill_null(False))
        found_by_code = pc.if_else(is_heard, verdicts(calculations), None)
        for (recipe, found, evaluation), count in value_counts(recipes, found_by_code, evaluations).items():
            # Imported conversations may have no recipe, and then have no rules.
            if recipe and (rules := installed(recipe)) and rules.agreeing:
                agrees = _LETTERS.get(evaluation, "") in rules.agreeing[found]
                self.verdicts["agree" if agrees else "contradict"] += count

    def _add_calls(self, calls: pa.Array) -> None:
        asks = pc.list_value_length(pc.struct_field(calls, "raw"))
        for (prompt, count), calls_so_often in value_counts(below(calls, "prompt"), asks).items():
            self.answers[prompt] += count * calls_so_often
            if count > 1:
                self.asked_again[f"{prompt}: unusable"] += (count - 1) * calls_so_often
        for call in call_counts(calls):
            used_by = account(call["role"], call["endpoint"])
            self.parse[_plain(call["outcome"], "PARSE_OUTCOME_")] += call["calls"]
            used = {kind: call[kind] for kind in (*KINDS, COST)}
            add_use(self.tokens[used_by], used)
            names = used_by, call["model"], _plain(call["outcome"], "PARSE_OUTCOME_")
            add_use(self.accounts[names], used | {"calls": call["calls"]})
            self.answered[tuple(call[name] for name in ANSWERED_BY)] += call["calls"]

    def as_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in _COUNTS}
        tokens = {name: as_told(used) for name, used in sorted(self.tokens.items())}
        accounts: list[dict[str, Any]] = [
            {**dict(zip(_ACCOUNT, names, strict=True)), "calls": used["calls"], **as_told(used)}
            for names, used in sorted(self.accounts.items())
        ]
        models = [
            dict(zip(ANSWERED_BY, names, strict=True)) | {"calls": number}
            for names, number in sorted(self.answered.items())
        ]
        plain = {
            name: dict(sorted(held.items())) if isinstance(held, Counter) else held for name, held in counts.items()
        }
        return plain | {"tokens": tokens, "accounts": accounts, "models": models}


def _discarded(enrichments: pa.Array) -> Iterator[dict[str, Any]]:
    """Yields what the planner discarded: `discarded` in a label of the enrichment."""
    if enrichments.type.get_field_index("labels") >= 0:
        labels = below(enrichments, "labels")
        for made in labels.type:
            if pa.types.is_struct(made.type) and made.type.get_field_index("discarded") >= 0:
                yield from below(labels, made.name, "discarded").to_pylist()


def _plain(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()
