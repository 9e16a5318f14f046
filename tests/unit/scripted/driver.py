"""Plays a whole dialogue with the scripted engine; verdicts come from the problem's numbers."""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import draw, seed
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message

_STUDENT = re.compile(r"^student_\w+ = (\S+)$", re.MULTILINE)


@dataclass(kw_only=True)
class Turn:
    student: str
    intent: str
    step: int
    wrong_before: int
    decision: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
    reply: dict[str, str] = field(default_factory=dict)

    @property
    def evaluation(self) -> str:
        return self.reply["Evaluation of Student Response"]

    @property
    def action(self) -> str:
        return self.reply["Action Based on Evaluation"]

    @property
    def state(self) -> str:
        return self.reply["Step State"]

    @property
    def asks_why(self) -> bool:
        return (self.evaluation, self.state) == ("b", "q")

    @property
    def text(self) -> str:
        return self.reply["Tutorbot Response"]


def request(state: str, prompt: str, seed: int) -> GenerateRequest:
    return GenerateRequest(prompt=f"soliloquy/{state}", messages=[Message(role="user", text=prompt)], seed=seed)


def conversation(lines: list[str]) -> str:
    return "<conversation>\n" + "\n".join(lines) + "\n</conversation>"


class Dialogue:
    """One student, one tutor, one problem."""

    def __init__(self, engine: Model, problem: Problem, seed: int, *, wrong: float = 0.1, rules: str = "") -> None:
        self.problem = problem
        self.turns: list[Turn] = []
        self._engine = engine
        self._seed = seed
        self._wrong = wrong
        self._rules = rules
        self._lines: list[str] = []

    async def play(self, turns: int = 20) -> list[Turn]:
        step, wrong = 1, 0
        for number in range(turns):
            turn = await self._turn(number, step, wrong)
            self.turns.append(turn)
            if turn.state == "t":
                break
            reached = int(turn.reply["Step Number"]) + (turn.state == "r")
            wrong = wrong + (turn.evaluation == "a") if reached == step else 0
            step = reached
        return self.turns

    async def _turn(self, number: int, step: int, wrong: int) -> Turn:
        rng = draw(self._seed, number, "intent")
        kind = "opening" if number == 0 else "wrong" if rng.random() < self._wrong else "right"
        before = self.turns[-1] if self.turns else None
        if before and before.asks_why:
            kind = "reason"
        slips = self.problem.steps[step - 1].slips
        held = f'<misconception working="{rng.choice(slips).working}"></misconception>' if slips else ""
        tries = sum(turn.step == step for turn in self.turns[1:])
        knowledge = rng.choice(("known", "shaky"))
        intent = (
            f'<intent kind="{kind}" knowledge="{knowledge}" step="{step}" tries="{tries}">Say something.'
            f"{held if kind == 'wrong' else ''}</intent>"
        )
        said = await self._ask("student", number, f"{conversation(self._lines)}\n{intent}")
        self._lines.append(f"Student: {said}")
        turn = Turn(student=said, intent=kind, step=step, wrong_before=wrong)
        progress = (
            f"<solution>Step 1) ..</solution>{conversation(self._lines)}<progress>Step being worked on: {step} of "
            f"{len(self.problem.steps)}\nWrong answers at this step: {wrong}</progress>"
        )
        turn.decision = json.loads(await self._ask("deciding", number, progress))
        if turn.decision["Use Python"] == "y":
            description = f"<description>{turn.decision['Description']}</description>"
            turn.code = json.loads(await self._ask("use_python", number, description, question=False))["Python"]
            turn.output = self._output(turn.code, step)
            output = "\n".join(f"{name} = {value}" for name, value in turn.output.items())
            progress = f"{progress}{description}<output>\n{output}\n</output>"
        state = "received_python" if turn.output else "no_python"
        turn.reply = json.loads(await self._ask(state, number, progress))
        self._lines.append(f"Tutor: {turn.text}")
        return turn

    def _output(self, code: dict[str, str], step: int) -> dict[str, Any]:
        """Returns the output that the code must have: the step's result, and the verdict on the student's value."""
        value = self.problem.steps[step - 1].result.value
        names = code["Result Variable"].split(", ")
        student = _STUDENT.search(code["Python Code"])
        verdict = {"is_correct": math.isclose(float(student[1]), value, rel_tol=0.01)} if student else {}
        return {names[0]: value} | verdict

    async def _ask(self, state: str, number: int, prompt: str, *, question: bool = True) -> str:
        task = f"<question>{self.problem.question}</question>\n" if question else ""
        answer: Completion = await self._engine.generate(
            request(state, f"{self._rules}{task}{prompt}", seed(self._seed, number, state))
        )
        return answer.text
