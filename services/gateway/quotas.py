"""Reads the file of quotas: what each tenant may take of the installation, and how they share it."""

import logging
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.validated_file import file_version, read_model

# How soon a change of the file takes effect.
CHECK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Quota(BaseModel):
    """What a tenant has; None is no limit."""

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


class QuotaFile:
    """Reads its file again when it changes; an unreadable file leaves the last quotas in force."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock
        self._checked = clock()
        self._version = file_version(file)
        self._quotas = read_quotas(file)

    @property
    def current(self) -> Quotas:
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            if (version := file_version(self._file)) != self._version:
                self._version = version
                try:
                    self._quotas = read_quotas(self._file)
                    _log.info("%s: read the quotas again", self._file)
                except Failure as error:
                    _log.error("%s: the previous quotas stay in force", error)
        return self._quotas


def read_quotas(file: Path) -> Quotas:
    return read_model(file, tomllib.loads, Quotas)
