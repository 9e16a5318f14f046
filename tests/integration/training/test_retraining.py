"""Continuous mode: rounds go on from one another, activate what is not worse, and nothing happens twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from soliloquy.v1.conversation_pb2 import Conversation

from services.client.dataset import Dataset
from services.runtime.model import Model
from services.runtime.weights import digest_of
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.rounds import Evaluating, Killed, Told, grow, serving, until_done
from tests.unit.training.evaluation.putting import SCRIPTED
from tests.unit.training.evaluation.test_higgs import NEVER
from tests.unit.training.growing import conversations
from training.adapters.registry import Active, Registry
from training.adapters.version import Version
from training.continuous.folder import Rounds
from training.continuous.policy import SHIPPED, Policy, read_policy
from training.continuous.sources import Growing
from training.settings import CannotTrain

STREAM = conversations(7)
POLICY = read_policy(SHIPPED)


@pytest.fixture(scope="module")
def address(base: Path) -> Iterator[str]:
    with serving(base) as address:
        yield address


class Recording(Registry):
    """Takes down what is activated; ends the process once behind each record where that is wanted."""

    fatal = False

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.activated: list[str] = []
        self._survived: set[str] = set()

    def activate(self, name: str, active: Active, *, instead_of: Active | None) -> None:
        super().activate(name, active, instead_of=instead_of)
        self.activated.append(active.version)
        self._die(f"activated {active.version}")

    def note(self, version: Version, note: str) -> None:
        super().note(version, note)
        self._die(f"noted {version.id}")

    def _die(self, when: str) -> None:
        if self.fatal and when not in self._survived:
            self._survived.add(when)
            raise Killed(when)


@pytest.fixture
def retraining(base: Path, address: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Of rounds of two conversations, by what its tutors are worth: the base, and the adapter of each round."""
    from training.continuous.retraining import Retraining, Served
    from training.train import train

    def make(folder: str, stream: Sequence[Conversation], *tutors: Model, policy: Policy = POLICY) -> Retraining:
        grow(tmp_path / folder, stream)
        registry = Recording(str(tmp_path / folder / "registry"))
        # Services outlast a test: what one activates is none of another's.
        name = f"{folder}-{id(request)}"
        return Retraining(
            rounds=Rounds(tmp_path / folder / "state"),
            source=Growing(data=str(tmp_path / folder)),
            every=2,
            served=Served(name=name, base=base, registry=registry, model_address=address),
            settings=SETTINGS.model_copy(update={"max_steps": 2}),
            policy=policy,
            canaries=[],
            train=train,
            evaluate=Evaluating(tutors=tutors),
            told=Told(),
        )

    return make


def test_a_round_learns_what_came_since_the_last_on_top_of_it_and_what_is_not_worse_goes_into_service(
    retraining: Callable[..., Any], base: Path, tmp_path: Path
) -> None:
    stream = [*STREAM[:3], STREAM[0], *STREAM[3:6]]
    one = retraining("one", stream, SCRIPTED, SCRIPTED, SCRIPTED)
    # A question about it is put: nothing is learned from it.
    one.evaluate.about = [STREAM[2].problem.id]
    first, second = one.run(2)
    learned = [[each.id for each in Dataset(one.rounds.round(number).data)] for number in (1, 2)]
    assert learned == [[STREAM[0].id, STREAM[1].id], [STREAM[3].id, STREAM[4].id]]
    assert (first.plan.onto, second.plan.onto) == ("", first.version)
    assert (first.outcome, second.outcome) == ("activated", "activated")
    active = one.served.registry.active()[one.served.name]
    assert (active.version, active.before) == (second.version, (first.version,))
    further = one.rounds.round(2).training / "run.json"
    weights = one.rounds.round(1).training / "adapter" / "adapter_model.safetensors"
    assert digest_of([weights]) in further.read_text("utf-8")
    # Three evaluations for two rounds: what one ends with the next begins with.
    assert len(one.evaluate.put) == 3
    rows = (one.rounds.folder / "rounds.md").read_text("utf-8").splitlines()
    assert [row.split(" | ")[:2] for row in rows[-2:]] == [["| 1", "2"], ["| 2", "2"]]
    assert "accepted/00000.parquet:2" in rows[-2]
    assert "verification 1.00" in rows[-1]
    # Asked for rounds that are there, it has nothing to do.
    assert one.run(2) == [first, second]


def test_what_is_worse_is_kept_with_the_reason_and_the_next_round_goes_on_from_what_is_in_service(
    retraining: Callable[..., Any],
) -> None:
    worse = retraining("worse", STREAM, SCRIPTED, SCRIPTED, NEVER, SCRIPTED)
    first, second, third = worse.run(3)
    assert [each.outcome for each in (first, second, third)] == ["activated", "worse", "activated"]
    assert second.reason.startswith("Python usage accuracy is 0.00 and was 1.00; ")
    assert (second.plan.onto, third.plan.onto) == (first.version, first.version)
    registry = worse.served.registry
    assert registry.find(second.version).note == f"round 2: worse: {second.reason}"
    assert registry.activated == [first.version, third.version]


def test_a_retraining_that_is_killed_at_every_step_comes_to_the_same_end_and_does_nothing_twice(
    retraining: Callable[..., Any],
) -> None:
    whole = retraining("whole", STREAM, SCRIPTED, SCRIPTED, NEVER)
    expected = whole.run(2)
    cut = retraining("cut", STREAM, SCRIPTED, SCRIPTED, NEVER)
    cut.told.fatal = cut.served.registry.fatal = True

    def again() -> Any:
        # A process that is started anew remembers nothing.
        return replace(cut).run(2)

    done, killed = until_done(again)
    assert killed > 12
    assert [each.version.partition("@")[2] for each in done] == [each.version.partition("@")[2] for each in expected]
    assert [(each.outcome, each.plan.span, each.loss) for each in done] == [
        (each.outcome, each.plan.span, each.loss) for each in expected
    ]
    assert cut.served.registry.activated == [done[0].version]
    assert len(cut.evaluate.put) == 3


def test_a_training_that_diverges_ends_its_round_and_the_next_begins_where_it_was(
    retraining: Callable[..., Any],
) -> None:
    wild = retraining("wild", STREAM, SCRIPTED, SCRIPTED)
    unbound = wild.settings.model_copy(update={"learning_rate": 1e25, "clip": 1e30})
    (first,) = replace(wild, settings=unbound).run(1)
    assert first.outcome == "diverged"
    assert first.reason.startswith("the loss of step 2 is")
    _, second = wild.run(2)
    assert (second.outcome, second.plan.onto) == ("activated", "")
    assert second.plan.span.begin == first.plan.span.end


def test_what_was_activated_meanwhile_stays(retraining: Callable[..., Any]) -> None:
    overtaken = retraining("overtaken", STREAM, SCRIPTED, SCRIPTED)
    registry, name = overtaken.served.registry, overtaken.served.name

    def meanwhile(adapter: Path | None, out: Path) -> Any:
        if adapter is not None:
            Registry.activate(registry, name, Active(version=f"{name}@other", since=""), instead_of=None)
        return Evaluating(tutors=[SCRIPTED])(adapter, out)

    (outcome,) = replace(overtaken, evaluate=meanwhile).run(1)
    assert (outcome.outcome, outcome.reason) == ("refused", f"{name}@other is in service by now, not nothing as before")
    assert registry.active()[name].version == f"{name}@other"


@pytest.mark.parametrize(
    ("differing", "line"),
    [
        ({"source": Growing(data="elsewhere")}, "holds another retraining (source: "),
        ({"settings": SETTINGS.model_copy(update={"tune": "full"})}, "tune: full makes no adapter"),
    ],
    ids=["another source", "no adapter"],
)
def test_what_cannot_be_retrained_is_one_line(
    retraining: Callable[..., Any], differing: dict[str, Any], line: str
) -> None:
    begun = retraining("begun", STREAM, SCRIPTED, SCRIPTED)
    begun.told.fatal = True
    with pytest.raises(Killed):
        begun.run(1)
    with pytest.raises(CannotTrain) as refused:
        replace(begun, **differing).run(1)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_service_of_another_base_is_told_before_anything_is_learned(
    retraining: Callable[..., Any], base: Path, tmp_path: Path
) -> None:
    import shutil

    other = shutil.copytree(base, tmp_path / "other-base")
    (other / "tokenizer.json").write_text("{}")
    mixed = retraining("mixed", STREAM, SCRIPTED)
    with pytest.raises(CannotTrain, match="name the base that is served"):
        replace(mixed, served=replace(mixed.served, base=other)).run(1)
    assert mixed.rounds.done() == []
