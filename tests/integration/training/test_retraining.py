"""Continuous mode: rounds build on each other, activate adapters that are not worse, and do nothing twice."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from soliloquy.client import Dataset
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.weights import digest_of
from soliloquy_papers.soliloquy.evaluate.retraining import RETRAINING
from soliloquy_training.adapters.registry import Active, Registry
from soliloquy_training.adapters.version import Version
from soliloquy_training.continuous.folder import SHIPPED, RetrainingFolder, RoundOutcome, read_policy
from soliloquy_training.continuous.sources import DatasetSource
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.processes import train
from tests.integration.training.rounds import Evaluating, Killed, Noted, grow, until_done
from tests.unit.papers.soliloquy.evaluate.cases import SCRIPTED
from tests.unit.papers.soliloquy.evaluate.test_evaluation import NEVER
from tests.unit.training.growing import conversations

# Its fourth is about a question that is put, and one came twice.
GROWN = conversations(9)
STREAM = [*GROWN[:4], GROWN[0], *GROWN[4:]]


@pytest.fixture(scope="module")
def address(base: Path) -> Iterator[str]:
    # Every process that only looks for tests would pay for it.
    from soliloquy_services.model.in_process import serve_weights

    with serve_weights(base) as address:
        yield address


class Recording(Registry):
    """Records activations; on request simulates a death once after each record."""

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


@pytest.fixture(scope="module")
def retraining(base: Path, address: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Returns a retraining in rounds of two conversations, with the quality of the base and of each round's adapter."""
    from soliloquy_training.continuous.retraining import Retraining, Served

    def make(name: str, *tutors: Model, **differing: Any) -> Retraining:
        folder = tmp_path_factory.mktemp(name)
        grow(folder / "grown", STREAM)
        registry = Recording(str(folder / "registry"))
        chosen: dict[str, Any] = {
            "rounds": RetrainingFolder(folder / "state"),
            "source": DatasetSource(data=str(folder / "grown")),
            "every": 2,
            "served": Served(name=name, base=base, registry=registry, model_address=address),
            "settings": SETTINGS.model_copy(update={"max_steps": 1}),
            "policy": read_policy(
                SHIPPED, metrics=RETRAINING.metrics, problems=RETRAINING.problems, may_lose=RETRAINING.may_lose
            ),
            "metrics": RETRAINING.metrics,
            "canaries": [],
            "train": train,
            "evaluate": Evaluating(tutors=tutors, about=[GROWN[3].problem.id]),
            "display": Noted(),
        }
        return Retraining(**chosen | differing)

    return make


@pytest.fixture(scope="module")
def whole(retraining: Callable[..., Any]) -> Any:
    """Runs four rounds: as good as the base, worse, overtaken by another version, and without anything to learn."""
    whole = retraining("whole", SCRIPTED, SCRIPTED, NEVER, SCRIPTED)
    whole.run(2)
    registry, name = whole.served.registry, whole.served.name

    def overtaken(adapter: Path | None, out: Path) -> Any:
        before = registry.active()[name]
        Registry.activate(registry, name, Active(version=f"{name}@other", since=""), instead_of=before)
        return whole.evaluate(adapter, out)

    replace(whole, evaluate=overtaken).run(3)
    # A person takes it back.
    first = Active(version=registry.activated[0], since="")
    Registry.activate(registry, name, first, instead_of=registry.active()[name])
    wild = whole.settings.model_copy(update={"max_steps": 2, "learning_rate": 1e25, "clip": 1e30})
    replace(whole, settings=wild).run(4)
    return whole


def _rounds(outcome: str) -> tuple[str, dict[str, str]]:
    return "soliloquy_training_rounds_total", {"outcome": outcome}


def test_a_round_learns_what_came_since_the_last_each_once_and_nothing_about_a_question_that_is_put(whole: Any) -> None:
    learned = [[each.id for each in Dataset(whole.rounds.round(number).data)] for number in range(1, 5)]
    fresh = [each.id for each in [*GROWN[:3], *GROWN[4:]]]
    assert learned == [fresh[:2], fresh[2:4], fresh[4:6], fresh[6:8]]


def test_what_is_not_worse_goes_into_service_and_all_else_is_kept_with_the_reason(whole: Any) -> None:
    first, second, third, fourth = done = whole.rounds.done()
    assert [each.outcome for each in done] == ["activated", "worse", "refused", "diverged"]
    assert whole.served.registry.activated == [first.version]
    assert second.reason.startswith("Python usage accuracy is 0.00, before 1.00; the policy requires 0.96; ")
    assert third.reason == f"whole@other is in service instead of {first.version}"
    assert fourth.reason.startswith("the loss of step 2 is")
    rounds = {each.outcome: REGISTRY.get_sample_value(*_rounds(each.outcome)) for each in done}
    assert rounds == dict.fromkeys(rounds, 1.0)
    notes = {version.id: version.note for version in whole.served.registry.versions()}
    assert notes == {
        first.version: "round 1: activated",
        second.version: f"round 2: worse: {second.reason}",
        third.version: f"round 3: refused: {third.reason}",
    }


def test_a_round_goes_on_from_what_is_in_service_and_not_from_what_was_worse(whole: Any) -> None:
    first, *later = whole.rounds.done()
    assert [each.plan.onto for each in (first, *later)] == ["", *[first.version] * 3]
    weights = whole.rounds.round(1).training / "adapter" / "adapter_model.safetensors"
    assert digest_of([weights]) in (whole.rounds.round(2).training / "run.json").read_text("utf-8")
    # One evaluation a version: what a round ends with the next begins with.
    assert len(whole.evaluate.put) == 4


def test_each_round_leaves_a_line_in_the_table(whole: Any) -> None:
    rows = (whole.rounds.folder / "rounds.md").read_text("utf-8").splitlines()[-4:]
    assert [row.split(" | ")[:4] for row in rows[:2]] == [
        ["| 1", "2", "the first", "accepted/00000.parquet:2"],
        # Behind the last: one about a question, and one that came again.
        ["| 2", "2", "accepted/00000.parquet:2", "accepted/00000.parquet:6"],
    ]
    assert "verification 1.00" in rows[0]
    assert "verification 1.00 | usage 0.00" in rows[1]
    assert rows[3].split(" | ")[-1].startswith("diverged: the loss of step 2 is")


@pytest.mark.thorough
def test_a_retraining_that_is_killed_at_every_step_comes_to_the_same_end_and_does_nothing_twice(
    whole: Any, retraining: Callable[..., Any]
) -> None:
    cut = retraining("cut", SCRIPTED, SCRIPTED, NEVER)
    cut.display.fatal = cut.served.registry.fatal = True
    # A process that is started anew remembers nothing.
    done, killed = until_done(lambda: replace(cut).run(2))
    assert killed > 12

    def facts(outcome: RoundOutcome) -> tuple[Any, ...]:
        return outcome.outcome, outcome.plan.span, outcome.loss, outcome.version.partition("@")[2]

    assert [facts(each) for each in done] == [facts(each) for each in whole.rounds.done()[:2]]
    assert cut.served.registry.activated == [done[0].version]
    assert len(cut.evaluate.put) == 3


def test_what_cannot_be_retrained_is_one_line(whole: Any, base: Path, tmp_path: Path) -> None:
    other = shutil.copytree(base, tmp_path / "other")
    (other / "tokenizer.json").write_text("{}")
    full = SETTINGS.model_copy(update={"tune": "full"})
    elsewhere = replace(whole, rounds=RetrainingFolder(tmp_path / "state"), served=replace(whole.served, base=other))
    for wrong, line in [
        (replace(whole, source=DatasetSource(data="elsewhere")), "holds another retraining (source: "),
        (replace(whole, settings=full), "tune: full makes no adapter"),
        (elsewhere, "use the base that is served"),
    ]:
        with pytest.raises(Failure) as refused:
            wrong.run(5)
        assert line in str(refused.value)
        assert "\n" not in str(refused.value)
    assert elsewhere.rounds.done() == []
