"""Says of each rule what it is asked of, how sure it is, and what becomes of an answer that breaks it."""

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem

# The roles whose answers a rule may be asked of as soon as they are given.
Author = Literal["student", "tutor", "codegen", "composer"]


class BadRules(Failure):
    """A table of rules contradicts itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    __pydantic_config__ = ConfigDict(extra="forbid")

    # A turn by itself, a turn with those before it, or only the conversation as a whole.
    of: Literal["turn", "pair", "conversation"]
    # The rule in words; the model that breaks it reads them with the evidence.
    says: Annotated[str, Field(pattern=r"\w")]
    # Whether it rests on code, algebra or exact text, or on a reading of the words.
    rests_on: Literal["fact", "reading"]
    # A conversation is rejected for it; an answer is asked for again and stands if it stays; it is only counted.
    does: Literal["condemn", "ask", "mark"]
    # The same where the steps of the problem were read from a solution in prose; as otherwise if it is left out.
    on_read_plan: Literal["ask", "nothing"] | None = None
    # The roles whose answers it is asked of while the conversation goes on.
    by: tuple[Author, ...] = ()
    # Whether a program's output changes what it finds: once one has run, it is asked of the program, or of the
    # student's message again.
    reads_programs: bool = False
    # The state whose answer is at fault, where a role answers in several; its last one if empty.
    state: str = ""
    # Whether it reads English words, so that it is not applied to other languages.
    english: bool = False
    # Whether it binds a model that tutors, and no person in its place.
    models: bool = False
    # How it was shown to be right.
    shown: str = ""

    @property
    def certain(self) -> bool:
        return self.rests_on == "fact"


Bound = Annotated[int, Field(ge=1, le=8)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tries:
    """How often an answer of each role goes back."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    student: Bound
    tutor: Bound
    codegen: Bound
    composer: Bound


@dataclass(frozen=True, kw_only=True, slots=True)
class MendingBounds:
    """How often an answer goes back to its role, and turns are taken back in a conversation."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    tries: Tries
    rewinds: Bound

    def tries_of(self, role: str) -> int:
        """Returns 0 for a role whose answers no rule is asked of."""
        return getattr(self.tries, role, 0)


@dataclass(frozen=True, kw_only=True)
class Rulebook:
    """The rules of a recipe by name; those that the table leaves out are not applied."""

    rules: Mapping[str, Rule]
    mending: MendingBounds
    # The data that a rule reads besides the messages.
    needs: Mapping[str, str] = field(default_factory=dict)

    def on_plan(self, problem: Problem) -> "Rulebook":
        """Returns the book for conversations about a problem; rules may do less on steps that were read from prose."""
        return self._on_read_plan if problem.plan == PLAN_SOURCE_PROSE else self

    @functools.cached_property
    def _on_read_plan(self) -> "Rulebook":
        kept = {name: rule for name, rule in self.rules.items() if rule.on_read_plan != "nothing"}
        asking = {name: replace(rule, does="ask") for name, rule in kept.items() if rule.on_read_plan == "ask"}
        return replace(self, rules=kept | asking)

    def asked_of(self, author: str) -> list[str]:
        """Returns the rules whose faults send an answer of the role back."""
        return [name for name, rule in self.rules.items() if author in rule.by and rule.does != "mark"]

    def shown_by_programs(self, author: str) -> list[str]:
        """Returns those of these rules that are asked once a program has run."""
        return [name for name in self.asked_of(author) if self.rules[name].reads_programs]

    def of_conversations(self) -> list[str]:
        """Returns the rules whose faults show only in a whole conversation and condemn it."""
        return [name for name, one in self.rules.items() if one.of == "conversation" and one.does == "condemn"]

    def condemns(self, rule: str) -> bool:
        return self.rules[rule].does == "condemn"

    def under(self, table: Mapping[str, Any], where: str, known: Collection[str]) -> "Rulebook":
        """Returns the book with other rules; raises BadRules."""
        return Rulebook(rules=_rules(table, where, known), mending=self.mending, needs=self.needs)


def rulebook(policy: Mapping[str, Any], where: str, known: Collection[str]) -> Rulebook:
    """Reads the tables `rules`, `needs` and `mending`; `known` are the rules with code. Raises BadRules.

    The limits of the rules stand in the table itself or in its `talk`.
    """
    _check_limits({**policy, **policy.get("talk", {})}, where)
    rules = _rules(policy["rules"], where, known)
    mending = _read(MendingBounds, policy.get("mending", {}), f"{where}: mending")
    needs: Mapping[str, str] = policy.get("needs", {})
    _check_names(needs, rules, f"{where}: needs")
    return Rulebook(rules=rules, mending=mending, needs=needs)


def _check_limits(policy: Mapping[str, Any], where: str) -> None:
    limits = {name: limit for name, limit in policy.items() if isinstance(limit, int | float)}
    for name, limit in limits.items():
        if limit <= 0:
            raise BadRules(f"{where}: {name}: must be more than 0, not {limit}")
        most = next((f"{kind}_{name[9:]}" for kind in ("longest", "most") if f"{kind}_{name[9:]}" in limits), "")
        if name.startswith("shortest_") and most and limit > limits[most]:
            raise BadRules(f"{where}: {name} is {limit}, and {most} is {limits[most]}: nothing satisfies both")


def _rules(table: Mapping[str, Any], where: str, known: Collection[str]) -> dict[str, Rule]:
    _check_names(table, known, f"{where}: rules")
    rules = {name: _read(Rule, entry, f"{where}: rules.{name}") for name, entry in table.items()}
    for name, rule in rules.items():
        if why := _contradiction(rule):
            raise BadRules(f"{where}: rules.{name}: {why}")
    return rules


def _contradiction(rule: Rule) -> str:
    if rule.of == "conversation" and rule.by:
        return f"it is of a conversation and asked of the {rule.by[0]}'s answers: remove by, or make it of a turn"
    if rule.of != "conversation" and not rule.by and rule.does != "mark":
        return f"it is of a {rule.of} and asked of nobody: name the roles in by, or make it of a conversation"
    if "codegen" in rule.by and not (rule.reads_programs and rule.by == ("codegen",)):
        return "it is asked of programs, which show nothing before they have run: set reads_programs, and no other role"
    if rule.of == "conversation" and rule.does == "ask":
        return "no single answer can be asked for again for a whole conversation: use condemn or mark"
    if rule.on_read_plan == "ask" and rule.does != "condemn":
        return f"on a plan that was read it is to ask, which is no less than {rule.does}: remove one"
    if rule.of == "conversation" and rule.on_read_plan == "ask":
        return 'no single answer can be asked for again for a whole conversation: use on_read_plan = "nothing"'
    if rule.does == "mark" and rule.state:
        return f"it only marks, and names the state {rule.state!r} to ask again: remove one"
    return ""


def _check_names(given: Iterable[str], known: Collection[str], where: str) -> None:
    if unknown := next((name for name in given if name not in known), None):
        near = did_you_mean(unknown, known) or f": use {', '.join(known)}"
        raise BadRules(f"{where}: there is no rule {unknown!r}{near}")


T = TypeVar("T", Rule, MendingBounds)


def _read(kind: type[T], entry: object, where: str) -> T:
    try:
        return TypeAdapter(kind).validate_python(entry)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        name = ".".join(("", *map(str, first["loc"])))
        given = "" if first["type"] == "missing" else f", not {first['input']!r}"
        raise BadRules(f"{where}{name}: {first['msg']}{given}") from error
