"""A small problem and a sound conversation about it, for tests to bend."""

from soliloquy.recipes.codes import EVALUATIONS, INTENTS
from soliloquy.recipes.soliloquy.codes import STATES
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.v1.conversation_pb2 import (
    PLAN_SOURCE_BANK,
    Calculation,
    CodeAttempt,
    Conversation,
    Ending,
    Enrichment,
    Problem,
    Quantity,
    Step,
    StudentReply,
    Turn,
    TutorReply,
)
from soliloquy.v1.runs_pb2 import Run
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Status, Value

_INTENTS = {name: intent for intent, name in INTENTS.items()}


def problem() -> Problem:
    mass = Quantity(symbol="m", name="mass", value=1500, unit="kg")
    acceleration = Quantity(symbol="a", name="acceleration", value=2.4, unit="m/s^2")
    force = Quantity(symbol="F", name="net force", value=3600, unit="N")
    distance = Quantity(symbol="s", name="distance", value=50, unit="m")
    work = Quantity(symbol="W", name="work", value=180000, unit="J")
    return Problem(
        id="car",
        topic="mechanics",
        question="A 1500 kg car speeds up at 2.4 m/s^2 over 50 m. How much work does the engine do?",
        solution="F = m a = 3600 N, W = F s = 180000 J",
        steps=[
            Step(number=1, ask="What net force acts?", formula="F = m a", inputs=[mass, acceleration], result=force),
            Step(number=2, ask="What work is done?", formula="W = F s", inputs=[force, distance], result=work),
        ],
        answer=work,
        tolerance=0.01,
        source="test",
        plan=PLAN_SOURCE_BANK,
    )


def calculated(correct: bool | None, *, status: Status = Status.STATUS_OK) -> Calculation:
    values = [NamedValue(name="result", value=Value(real=3600.0))]
    if correct is not None:
        values.append(NamedValue(name="is_correct", value=Value(boolean=correct)))
    execution = Execution(
        status=status,
        values=values if status == Status.STATUS_OK else [],
        isolation="gvisor-ptrace",
    )
    attempt = CodeAttempt(code="result = 1500 * 2.4", result_variables=["result"], execution=execution)
    return Calculation(description="the net force", attempts=[attempt])


def turn(
    student: str,
    tutor: str,
    *,
    codes: str,
    step: int,
    intent: str = "right",
    calculation: Calculation | None = None,
) -> Turn:
    """A turn whose codes are written "b3r": evaluation, action, state."""
    labels = TutorLabels(action=int(codes[1:-1]), step=step, state=STATES[codes[-1]])
    return Turn(
        student=StudentReply(text=student, intent=_INTENTS[intent]),
        calculation=calculation,
        tutor=TutorReply(
            text=tutor,
            thoughts="a thought",
            evaluation=EVALUATIONS[codes[0]],
            labels=labels.SerializeToString(),
        ),
    )


def conversation(*turns: Turn, ending: Ending = Ending.ENDING_SOLVED) -> Conversation:
    built = Conversation(
        id="c0ffee",
        run=Run(id="run", recipe="soliloquy", seed=7, in_flight=4, max_turns=20, max_attempts=3),
        problem=problem(),
        persona="careful",
        turns=turns,
        ending=ending,
    )
    for number, held in enumerate(built.turns, start=1):
        held.number = number
    return built


def sound_turns() -> list[Turn]:
    return [
        turn("I am stuck with the car problem.", "What net force acts?", codes="f8q", step=1, intent="opening"),
        turn("It is 3600 N.", "Right! What work is done?", codes="b3r", step=1, calculation=calculated(True)),
        turn("180000 J", "Well done, 180000 J it is.", codes="b3t", step=2, calculation=calculated(True)),
    ]


def sound_conversation() -> Conversation:
    return conversation(*sound_turns())


def enriched_conversation() -> Conversation:
    made = sound_conversation()
    made.problem.enrichment.CopyFrom(
        Enrichment(
            detailed_solution="Step 1) By Newton's second law F = 3600 N.\nStep 2) So W = 180000 J.",
            outline="Step 1) Find the force.\nStep 2) Find the work.",
        )
    )
    return made
