"""Gives rows as MATH, MetaMath, chat formats and others publish them the names of a problem file's fields."""

from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from soliloquy.runtime.files import table_beside


class ManyTurns(Exception):
    """A dialogue is not one question with one solution."""


@dataclass(frozen=True)
class _Turns:
    # The keys of a turn, and the speakers.
    speaker: str
    text: str
    asks: tuple[str, ...]
    solves: tuple[str, ...]


@dataclass(frozen=True)
class _Form:
    by: tuple[str, ...]
    columns: Mapping[str, str] | None = None
    turns: _Turns | None = None


_FORMS = TypeAdapter(list[_Form]).validate_python(table_beside(__file__, "familiar_rows.toml")["form"])


def with_our_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row as it is if it has a question or no form that is known; raises ManyTurns."""
    named = dict(row)
    if (form := _form_of(named)) is None:
        return named
    for theirs, ours in (form.columns or {}).items():
        if theirs in named:
            named.setdefault(ours, named.pop(theirs))
    if form.turns:
        [column] = form.by
        named |= zip(("question", "solution"), _spoken(named.pop(column), form.turns), strict=True)
    return named


def our_names(names: Collection[str]) -> Set[str]:
    """Returns these names, and those that `with_our_names` gives a row of them."""
    form = _form_of(names)
    if form is None:
        return {*names}
    return {*names, *((form.columns or {}).values()), *(("question", "solution") if form.turns else ())}


def _form_of(names: Collection[str]) -> _Form | None:
    if "question" in names:
        return None
    return next((form for form in _FORMS if all(name in names for name in form.by)), None)


def _spoken(turns: Any, form: _Turns) -> Iterator[str]:
    """Yields the question and the solution, without the prompt of a system."""
    given = [turn for turn in turns if isinstance(turn, Mapping)] if isinstance(turns, list | tuple) else []
    for speakers in (form.asks, form.solves):
        said = [turn.get(form.text) for turn in given if turn.get(form.speaker) in speakers]
        if len(said) != 1 or not isinstance(said[0], str):
            told = "a problem is one question and one solution, each in text"
            raise ManyTurns(f"holds {len(said)} turns of {speakers[0]}: {told}")
        yield said[0]
