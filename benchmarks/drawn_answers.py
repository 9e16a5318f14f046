"""A scripted model with faults at given rates, which remembers what it drew for each message of a student."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.files import table_beside
from soliloquy.runtime.model import StreamListener
from soliloquy.standin.faults import Rates
from soliloquy.standin.speakers import rates_of, spoils
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.model.engines import noise
from soliloquy_services.model.engines.noise import Noise
from soliloquy_services.model.engines.scripted import ScriptedEngine

_STUDENT, _PROGRAM = "/student", "/use_python"
# The slots that say what a message is to be, and whether its answer is right then.
_KINDS = ("kind", "shown", "belief")
_IS_RIGHT = {
    **dict.fromkeys(("right", "correct", "given_up"), True),
    **dict.fromkeys(("wrong", "incorrect", "held"), False),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultRates:
    """How often each answer has a fault, from 0 to 1."""

    programs: float
    descriptions: float
    contradicted: float
    students: float


NO_FAULTS = FaultRates(programs=0, descriptions=0, contradicted=0, students=0)


class Drawn(NamedTuple):
    """Whether a student was to answer rightly, and whether the scripted model did; None for no answer."""

    wanted: bool | None
    written: bool | None


class DrawnAnswers:
    """Answers as the scripted model, and keeps what it drew by the conversation and the answer."""

    def __init__(self, rates: FaultRates) -> None:
        self._noise = _remembering(rates)
        self._engine = ScriptedEngine(noise=self._noise)
        self._drawn: dict[tuple[str, str], Drawn] = {}

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        completion = await self._engine.generate(request, stream_listener)
        if request.prompt.endswith(_STUDENT):
            # The engine answers without a pause: no other answer was drawn since.
            self._drawn[request.draw_key, completion.text] = self._noise.latest
        return completion

    def of(self, conversation: Conversation, calls: Sequence[ModelCall]) -> Drawn:
        """Returns what was drawn for the last message of a student among the calls."""
        written = [call.raw[-1] for call in calls if call.prompt.endswith(_STUDENT)]
        return self._drawn[conversation.id, written[-1]] if written else Drawn(None, None)

    @property
    def faults(self) -> Counter[str]:
        return self._noise.faults


def _remembering(rates: FaultRates) -> "_RememberingNoise":
    counted = table_beside(noise.__file__, "noise.toml")
    shares = counted["program"]
    whole = sum(shares.values())
    tables: Mapping[str, Any] = {
        "program": {fault: rates.programs * share / whole for fault, share in shares.items()},
        "description": {"lacks_input": rates.descriptions},
        "verdict": {"contradicted": rates.contradicted},
        "words": counted["words"],
    }
    return _RememberingNoise(
        Rates(tables), {name: Rates(_with_students(tables, name, rates.students)) for name in known_recipes()}, spoils()
    )


def _with_students(tables: Mapping[str, Any], recipe: str, rate: float) -> Mapping[str, Any]:
    """Adds that who is to be right is wrong, in the words of the recipe."""
    own = rates_of(recipe)
    kinds = {kind: dict.fromkeys(others, rate) for kind, others in own.get("kinds", {}).items() if _IS_RIGHT.get(kind)}
    return {**tables, "kinds": kinds, "words": {**tables["words"], **own.get("words", {})}}


class _RememberingNoise(Noise):
    def __init__(self, *tables: Any) -> None:
        super().__init__(*tables)
        self.latest = Drawn(None, None)
        self.faults: Counter[str] = Counter()

    def misread(self, scene: Scene, rng: Random) -> Scene:
        read = super().misread(scene, rng)
        if not scene.prompt.endswith(_STUDENT):
            self.faults["verdicts"] += bool(read.misread)
            return read
        wanted, written = _is_right(scene), _is_right(read)
        self.latest = Drawn(wanted, written)
        self.faults["students"] += wanted is not written
        return read

    def spoil(self, answer: str, scene: Scene, rng: Random) -> str:
        spoilt = super().spoil(answer, scene, rng)
        if spoilt != answer and not scene.prompt.endswith(_STUDENT):
            self.faults["programs" if scene.prompt.endswith(_PROGRAM) else "descriptions"] += 1
        return spoilt


def _is_right(scene: Scene) -> bool | None:
    return _IS_RIGHT.get(next(filter(None, map(scene.slot, _KINDS)), ""))
