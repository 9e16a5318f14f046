"""The tutors that can be evaluated: one that plans and tracks as the recipe does, and one that only talks."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from soliloquy.recipes.answers import PlainTutorMessage
from soliloquy.recipes.scaffold import plan_prompting, prompting
from soliloquy.recipes.scaffold.answers import CalculationRequest, Tutored, UnaidedPlan
from soliloquy.recipes.scaffold.fit import needs_calculation
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, StudentLabels, TutorLabels
from soliloquy.recipes.scaffold.memory import closing_state, solved, solved_after, store_solved
from soliloquy.recipes.scaffold.states import STATES
from soliloquy.recipes.scaffold.student import record_message, record_reply
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Ending, ModelCall, Turn
from soliloquy.v1.runs_pb2 import Run
from soliloquy_papers.scaffold.evaluate.dialogues import DialogueCase, DialogueRound
from soliloquy_training.evaluation.recipe_loop import RecipeLoop

A = TypeVar("A", bound=Answer)
_PLAIN = Path(__file__).with_name("plain.txt")


class PlanningTutor:
    """Plans from the problem alone, then assesses, replies and tracks; a program checks the student's numbers."""

    def __init__(self, case: DialogueCase, loop: RecipeLoop) -> None:
        self._loop = loop
        run = Run(recipe="scaffold", seed=case.seed, prompts=loop.prompts)
        self._conversation = Conversation(id=case.id, problem=case.problem, run=run)
        roles = ("planner", "tutor", "composer")
        self._asks = {role: Ask(model=loop.model, role=role, origin=(case.seed, case.id, role)) for role in roles}

    @property
    def calls(self) -> list[ModelCall]:
        return [call for ask in self._asks.values() for call in ask.calls]

    async def _asked(self, role: str, prompt: Prompt, answer: type[A]) -> A:
        ask = self._asks[role]
        ask.conversation = self._conversation
        return await ask(prompt, answer)

    async def reply(self, before: Sequence[DialogueRound], message: str) -> tuple[str, bool]:
        if not self._conversation.turns:
            problem = self._conversation.problem
            own = await self._asked("planner", plan_prompting.lesson(problem), UnaidedPlan)
            problem.enrichment.labels = EnrichmentLabels(plan=own.plan).SerializeToString()
            for one in before:
                self._record(one.student, one.state, one.tutor)
        await self._calculate(self._turn(message))
        turn = self._conversation.turns[-1]
        tutored = await self._asked("composer", prompting.tutoring(self._conversation, turn), Tutored)
        self._track(turn, tutored.state, tutored.text)
        turn.tutor.thoughts = tutored.analysis
        return tutored.text, all(solved(turn))

    def _record(self, message: str, state: str, reply: str) -> None:
        """Adds an earlier exchange; the last sub-question of a short plan stays unsolved."""
        turns = self._conversation.turns
        if turns and solved(turns[-1]).count(False) <= 1:
            return
        turn = self._turn(message)
        if state:
            self._track(turn, state, reply)
        else:
            record_reply(self._conversation, reply)

    def _turn(self, message: str) -> Turn:
        record_message(self._conversation, message)
        return self._conversation.turns[-1]

    def _track(self, turn: Turn, named: str, reply: str) -> None:
        state = closing_state(self._conversation, turn, STATES[named])
        turn.tutor.text, turn.tutor.labels = reply, TutorLabels(learner_state=state).SerializeToString()
        turn.student.labels = StudentLabels(learner_state=state).SerializeToString()
        store_solved(turn, solved_after(self._conversation, turn, state))

    async def _calculate(self, turn: Turn) -> None:
        """Checks every number that may be an answer, since the message's state is unknown."""
        conversation = self._conversation
        if turn.number == 1 or not needs_calculation(conversation, turn):
            return
        described = await self._asked("tutor", prompting.describing(conversation, turn), CalculationRequest)
        turn.calculation.CopyFrom(Calculation(description=described.description))
        ran = await self._loop.calculate(conversation)
        if ran.ending == Ending.ENDING_UNSPECIFIED:
            self._conversation = ran
        else:
            turn.ClearField("calculation")


class PlainTutor:
    """Follows a single instruction; for models that have not learned plans and states."""

    def __init__(self, case: DialogueCase, loop: RecipeLoop) -> None:
        self._ask = Ask(model=loop.model, role="composer", origin=(case.seed, case.id))
        self._told = ("system", _PLAIN.read_text("utf-8").strip())

    @property
    def calls(self) -> list[ModelCall]:
        return self._ask.calls

    async def reply(self, before: Sequence[DialogueRound], message: str) -> tuple[str, bool]:
        said = [self._told]
        for one in before:
            said += [("user", one.student), ("assistant", one.tutor)]
        said.append(("user", message))
        return (await self._ask(Prompt(name="scaffold/plain", said=said), PlainTutorMessage)).text, False


EvaluatedTutor = PlanningTutor | PlainTutor
TUTORS: Mapping[str, Callable[[DialogueCase, RecipeLoop], EvaluatedTutor]] = {
    "planned": PlanningTutor,
    "plain": PlainTutor,
}
