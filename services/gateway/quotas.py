"""Reads the file of quotas: what each tenant may take of the installation, and how they share it."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from soliloquy.runtime.validated_file import read_model


class Quota(BaseModel):
    """Limits and weight of a tenant; None is no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Its share beside other tenants that have as much to do.
    weight: PositiveFloat = 1.0
    in_flight: NonNegativeInt | None = None
    # From midnight to midnight, UTC.
    conversations_a_day: NonNegativeInt | None = None
    tokens_a_day: NonNegativeInt | None = None
    dollars_a_day: NonNegativeFloat | None = None


class Quotas(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Conversations under way at once in all runs.
    in_flight: PositiveInt | None = None
    # By tenant; "" is the installation itself.
    tenant: dict[str, Quota] = Field(default_factory=dict)
    # The tenants without a table.
    others: Quota = Quota()

    def of(self, tenant: str) -> Quota:
        return self.tenant.get(tenant, self.others)


def read_quotas(file: Path) -> Quotas:
    return read_model(file, tomllib.loads, Quotas)
