"""Prices tokens: by the settings, or by the list prices of prices.toml."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from soliloquy.runtime.files import table_beside

# The date or number of a version behind a model's name.
_VERSION = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|-latest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Dollars per million tokens."""

    prompt: float
    completion: float
    # None costs what the rest of a prompt does.
    cached: float | None = None
    cache_write: float | None = None
    # The day on which they held; None if the settings do not say.
    as_of: date | None = None

    @property
    def of_cached(self) -> float:
        return self.prompt if self.cached is None else self.cached

    @property
    def of_cache_write(self) -> float:
        return self.prompt if self.cache_write is None else self.cache_write


NOTHING = Price(prompt=0.0, completion=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    hosts: Sequence[str]
    as_of: date
    models: Mapping[str, Mapping[str, float]]
    # The share of these prices that requests in a batch cost.
    batch: float


@functools.cache
def _lists() -> Sequence[_Listed]:
    return TypeAdapter(list[_Listed]).validate_python(table_beside(__file__, "prices.toml")["lists"])


@functools.cache
def list_price(base_url: str, model: str, *, batch: bool = False) -> Price | None:
    """Returns the list price of a hosted model, alone or in batches; None if prices.toml has none."""
    host = urlsplit(base_url).hostname or ""
    for listed in _lists():
        price = listed.models.get(model) or listed.models.get(_VERSION.sub("", model))
        if price and any(f".{host}".endswith(f".{end}") for end in listed.hosts):
            share = listed.batch if batch else 1.0
            return Price(**{kind: share * dollars for kind, dollars in price.items()}, as_of=listed.as_of)
    return None
