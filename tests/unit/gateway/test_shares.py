"""Tenants and runs share what is in flight as the file of quotas says, and a run that waits says why."""

import math
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.validated_file import WatchedFile
from soliloquy.v1.conversation_pb2 import TokenUse
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.quotas import read_quotas
from soliloquy_services.gateway.runs import KnownRun, RunTable
from soliloquy_services.gateway.shares import Shares, max_min

DAY = 20_000
# Simulated: a conversation takes a second on average, and the drivers look ten times a second.
STEP_SECONDS = 0.1


class Installation:
    """Runs whose conversations take drawn times."""

    def __init__(self, folder: Path, quotas: str) -> None:
        self.file = folder / "quotas.toml"
        self.file.write_text(quotas, "utf-8")
        self.now = DAY * 86_400.0 + 1_000
        self.runs = RunTable(shipped_models())
        self.told: list[str] = []
        self.shares = Shares(
            self.runs, WatchedFile(self.file, read_quotas, "quotas", self._clock), self.told.append, self._clock
        )
        self.unsettled: Counter[str] = Counter()
        self.begun: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        # The ones that are not held.
        self.going: Counter[str] = Counter()
        self._chance = random.Random(7)

    def _clock(self) -> float:
        return self.now

    def start(self, name: str, tenant: str = "", *, in_flight: int = 1_000, priority: int = 0) -> KnownRun:
        request = RunRequest(conversations=10**8, in_flight=in_flight, priority=priority)
        changed = RunChanged(
            run=Run(id=name, in_flight=in_flight),
            request=request,
            requested_at=self.now + len(self.runs.by_id),
            state=RunState.RUN_STATE_RUNNING,
            tenant=tenant,
        )
        self.runs.take(name, KnownRun(changed=changed))
        return self.runs.by_id[name]

    def pass_seconds(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_SECONDS)):
            self.now += STEP_SECONDS
            for name, known in self.runs.by_id.items():
                first = self.shares.first_held(known)
                going = [each for each in known.under_way if first is None or each < first]
                done = [each for each in going if self._chance.random() < STEP_SECONDS]
                for ordinal in done:
                    del known.places[ordinal]
                self.going[name] = len(going) - len(done)
                self.finished[name] += len(done)
                known.begin_day(self.now)
                known.progress.accepted += len(done)
                while len(known.places) < self.shares.ahead(known):
                    self.begun[name] += 1
                    known.places[self.begun[name]] = self.begun[name]
                self.unsettled[name] = len(known.places)


def test_two_tenants_with_weights_3_and_1_have_that_much_and_a_burst_of_a_third_costs_them_little(
    tmp_path: Path,
) -> None:
    quotas = "in_flight = 200\n[tenant.a]\nweight = 3\n[tenant.b]\nweight = 1\n[others]\nweight = 0.4\n"
    installation = Installation(tmp_path, quotas)
    installation.start("a", "a")
    installation.start("b", "b")
    installation.pass_seconds(60)
    alone = installation.finished.copy()
    assert alone["a"] / alone["b"] == pytest.approx(3, rel=0.05)
    installation.start("c", "c")
    installation.pass_seconds(60)
    with_a_third = installation.finished - alone
    for name in "ab":
        # Its weight is a tenth of theirs; the other figures are drawn.
        assert with_a_third[name] / alone[name] == pytest.approx(4 / 4.4, rel=0.04)
    assert sum(installation.going.values()) <= 200


def test_what_one_tenant_does_not_want_is_shared_by_the_others(tmp_path: Path) -> None:
    installation = Installation(tmp_path, "in_flight = 100\n[tenant.a]\nweight = 9\n")
    installation.start("a", "a", in_flight=10)
    installation.start("b", "b")
    installation.pass_seconds(5)
    # Some more of the first wait for admission.
    assert installation.unsettled["a"] >= 10
    assert installation.unsettled["b"] == 90


def test_of_a_tenants_runs_a_higher_priority_comes_first_and_then_the_earlier_one(tmp_path: Path) -> None:
    installation = Installation(tmp_path, "in_flight = 100\n")
    first = installation.start("first", in_flight=60)
    second = installation.start("second", in_flight=60)
    installation.pass_seconds(5)
    assert installation.unsettled["second"] == 40
    assert (first.waits, second.waits) == ("", "other runs leave it 40 conversations in flight for now")
    urgent = installation.start("urgent", in_flight=60, priority=1)
    installation.pass_seconds(5)
    assert (installation.going["first"], installation.going["second"]) == pytest.approx((40, 0), abs=10)
    assert installation.unsettled["second"] == 40
    assert (urgent.waits, second.waits) == ("", "other runs leave it 0 conversations in flight for now")


def test_a_quota_that_is_lowered_holds_the_latest_conversations_and_begins_none_until_there_is_room(
    tmp_path: Path,
) -> None:
    installation = Installation(tmp_path, "[tenant.a]\nin_flight = 100\n")
    run = installation.start("a", "a", in_flight=100)
    installation.pass_seconds(5)
    assert (installation.unsettled["a"] >= 100, run.waits) == (True, "")
    installation.file.write_text("[tenant.a]\nin_flight = 20\n", "utf-8")
    installation.pass_seconds(1.5)
    before = installation.begun["a"]
    assert sorted(run.under_way).index(installation.shares.first_held(run) or 0) == 20
    assert run.waits == "the tenant a may have 20 conversations in flight"
    while installation.unsettled["a"] > 20:
        assert installation.going["a"] <= 20
        installation.pass_seconds(STEP_SECONDS)
    assert installation.begun["a"] - before <= 20
    installation.pass_seconds(5)
    assert installation.unsettled["a"] == 20
    assert installation.told[-1] == "a"
    installation.file.write_text("tenant = 5", "utf-8")
    installation.pass_seconds(5)
    assert installation.unsettled["a"] == 20


def test_the_day_of_a_tenant_ends_at_midnight(tmp_path: Path) -> None:
    installation = Installation(tmp_path, "[tenant.a]\nconversations_a_day = 500\n")
    run = installation.start("a", "a", in_flight=100)
    installation.pass_seconds(60)
    assert (installation.finished["a"], installation.unsettled["a"]) == (500, 0)
    assert run.waits == "the tenant a may have 500 conversations a day, and has 0 left until midnight UTC"
    installation.now = (DAY + 1) * 86_400.0
    installation.pass_seconds(1)
    assert installation.unsettled["a"] >= 100
    assert run.waits == ""


def test_used_tokens_end_the_day_too_and_hold_what_is_under_way(tmp_path: Path) -> None:
    installation = Installation(tmp_path, "[tenant.a]\ntokens_a_day = 1000\n")
    run = installation.start("a", "a", in_flight=10)
    run.begin_day(installation.now)
    run.progress.tokens["tutor"].CopyFrom(TokenUse(prompt=900, completion=99))
    installation.pass_seconds(1)
    assert installation.unsettled["a"] >= 10
    run.progress.tokens["tutor"].completion += 1
    installation.pass_seconds(30)
    assert (installation.going["a"], installation.shares.first_held(run)) == (0, min(run.under_way))
    assert run.waits.startswith("the tenant a may have 1,000 tokens a day")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("in_flight = 0", "in_flight: Input should be greater than 0"),
        ("[tenant.a]\nshare = 2", "tenant.a.share: Extra inputs are not permitted"),
        ("[tenant.a]\nweight = 0", "tenant.a.weight: Input should be greater than 0"),
        ("tenant", "cannot read "),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_fault(tmp_path: Path, text: str, advice: str) -> None:
    with pytest.raises(Failure) as refused:
        Installation(tmp_path, text)
    assert advice in str(refused.value)


@given(
    st.integers(0, 1_000),
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(0, 500), st.floats(0.1, 10))),
)
def test_shares_are_whole_use_all_that_is_wanted_and_favour_nobody(
    capacity: int, tenants: dict[str, tuple[int, float]]
) -> None:
    wanted = {name: float(want) for name, (want, _) in tenants.items()}
    weights = {name: weight for name, (_, weight) in tenants.items()}
    shares = max_min(capacity, wanted, weights)
    assert sum(shares.values()) == min(capacity, sum(wanted.values()))
    assert max_min(math.inf, wanted, weights) == wanted
    for name, share in shares.items():
        assert share <= wanted[name]
        if share < wanted[name]:
            assert all((share + 1) / weights[name] >= (other - 1) / weights[each] for each, other in shares.items())
