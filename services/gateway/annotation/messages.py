"""Requests and answers of annotation over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from soliloquy.annotation.rows import Round
from soliloquy.annotation.scheme import Scheme

MOST_ITEMS = 10_000
_Item = Annotated[str, Field(min_length=1, max_length=200)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AddAnnotation(_Body):
    """A project: what is asked of which items, and of how many annotators each."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    # One that is shipped, or one of your own.
    scheme: str | Scheme
    # Lines of `soliloquy annotations sample`; `gold` has the right values of an item that tests annotators.
    tasks: Annotated[Sequence["AnnotationTask"], Field(min_length=1, max_length=MOST_ITEMS)]
    annotators_per_item: Annotated[int, Field(ge=1, le=20)] = 2
    # The terms that an annotator agrees to before the first item; empty for none.
    consent: Annotated[str, Field(max_length=8_000)] = ""


class AnnotationTask(_Body):
    item: _Item
    unit: str = ""
    shown: Mapping[str, Any]
    # Kept from annotators and not stored: which side is whose, and the prompt that both answer.
    order: Sequence[str] = ()
    preference: Mapping[str, Any] = {}
    gold: Mapping[str, Any] | None = None


class AnnotationProject(_Body):
    id: str
    name: str
    scheme: Scheme
    annotators_per_item: int
    consent: str
    # Whether the caller has agreed to it.
    consented: bool
    items: int
    # The items that have all their annotations, and those that the caller has annotated.
    complete: int
    own: int


class AnnotationProjects(_Body):
    projects: Sequence[AnnotationProject]


class NextItem(_Body):
    """The item before an annotator; none once there is nothing left for them."""

    item: str
    shown: Mapping[str, Any]
    # The values that were taken back, to be changed.
    values: Mapping[str, Any]
    own: int
    items: int


class Annotate(_Body):
    item: _Item
    values: Mapping[str, Any]
    seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0


class DisputedItem(_Body):
    """An item whose annotators disagree; none once each is decided."""

    item: str
    shown: Mapping[str, Any]
    # By pseudonym.
    given: Mapping[str, Mapping[str, Any]]
    left: int


class AnnotationRow(_Body):
    item: str
    annotator: str
    scheme: str
    values: Mapping[str, Any]
    seconds: float
    at: float
    round: Round


class AnnotationRows(_Body):
    annotations: Sequence[AnnotationRow]
    # The share of right values in the items that test annotators, by pseudonym.
    gold: Mapping[str, float]


class Forgotten(_Body):
    annotations: int
