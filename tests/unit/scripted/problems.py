"""Two worked problems, and a book that holds them."""

from collections.abc import Callable, Sequence

from soliloquy.v1.conversation_pb2 import (
    ERROR_STRATEGY_ARITHMETIC,
    ERROR_STRATEGY_CONVERSION,
    ERROR_STRATEGY_FORMULA,
    ERROR_STRATEGY_REARRANGEMENT,
    STEP_KIND_COMPUTE,
    STEP_KIND_CONVERT,
    STEP_KIND_EQUATION,
    STEP_KIND_KNOWNS,
    STEP_KIND_REARRANGE,
    Problem,
    Quantity,
    Slip,
    Step,
)

GRAMS = Quantity(symbol="m_g", name="mass in grams", value=450, unit="g")
MASS = Quantity(symbol="m", name="mass", value=0.45, unit="kg")
FORCE = Quantity(symbol="F", name="net force", value=1.62, unit="N")
ACCELERATION = Quantity(symbol="a", name="acceleration", value=3.6, unit="m/s^2")

CART = Problem(
    id="cart",
    topic="newton",
    question="A toy cart of 450 g is pulled with a net force of 1.62 N. What is its acceleration in m/s^2?",
    steps=[
        Step(
            number=1,
            kind=STEP_KIND_KNOWNS,
            ask="Which quantities does the question give you?",
            explanation="The mass of the cart and the net force are given.",
            inputs=[GRAMS, FORCE],
        ),
        Step(
            number=2,
            kind=STEP_KIND_CONVERT,
            ask="What is the mass of the cart in kilograms?",
            explanation="Divide the number of grams by one thousand.",
            formula="1 kg = 1000 g",
            expression="m_g / 1000",
            inputs=[GRAMS],
            result=MASS,
            slips=[
                Slip(strategy=ERROR_STRATEGY_CONVERSION, working="450 / 100 = 4.5 kg", value=4.5, unit="kg"),
                Slip(strategy=ERROR_STRATEGY_ARITHMETIC, working="450 / 1000 = 0.54 kg", value=0.54, unit="kg"),
            ],
        ),
        Step(
            number=3,
            kind=STEP_KIND_EQUATION,
            ask="Which law connects force, mass and acceleration?",
            explanation="Newton's second law says that the net force equals mass times acceleration.",
            formula="F = m * a",
            slips=[Slip(strategy=ERROR_STRATEGY_FORMULA, working="F = m / a")],
        ),
        Step(
            number=4,
            kind=STEP_KIND_REARRANGE,
            ask="How do you write this for the acceleration?",
            explanation="Divide both sides by the mass.",
            formula="a = F / m",
            slips=[Slip(strategy=ERROR_STRATEGY_REARRANGEMENT, working="a = m / F")],
        ),
        Step(
            number=5,
            kind=STEP_KIND_COMPUTE,
            ask="What acceleration do you get?",
            explanation="The force divided by the mass gives the acceleration.",
            formula="a = F / m",
            expression="F / m",
            inputs=[FORCE, MASS],
            result=ACCELERATION,
            slips=[
                Slip(strategy=ERROR_STRATEGY_FORMULA, working="1.62 × 0.45", value=0.729, unit="m/s^2"),
                Slip(strategy=ERROR_STRATEGY_REARRANGEMENT, working="a = 0.45 / 1.62", value=0.2778, unit="m/s^2"),
                Slip(strategy=ERROR_STRATEGY_CONVERSION, working="1.62 / 450", value=0.0036, unit="m/s^2"),
                Slip(strategy=ERROR_STRATEGY_ARITHMETIC, working="1.62 / 0.45", value=4.6, unit="m/s^2"),
            ],
        ),
    ],
    answer=ACCELERATION,
    tolerance=0.01,
)

DROP = Quantity(symbol="h", name="height", value=12.0, unit="m")
GRAVITY = Quantity(symbol="g", name="gravitational acceleration", value=9.81, unit="m/s^2")
STONE = Quantity(symbol="m", name="mass of the stone", value=0.3, unit="kg")
ENERGY = Quantity(symbol="E", name="potential energy", value=35.316, unit="J")
SPEED = Quantity(symbol="v", name="speed", value=15.344054223053305, unit="m/s")

STONE_FALL = Problem(
    id="stone",
    topic="energy",
    question="A stone of 0.3 kg falls from a height of 12 m. Find the speed just before it hits the ground.",
    steps=[
        Step(
            number=1,
            kind=STEP_KIND_COMPUTE,
            ask="How large is the potential energy at the top?",
            explanation="The potential energy is the product of mass, gravitational acceleration and height.",
            formula="E = m * g * h",
            expression="m * g * h",
            inputs=[STONE, GRAVITY, DROP],
            result=ENERGY,
            slips=[Slip(strategy=ERROR_STRATEGY_FORMULA, working="E = 0.5 * 0.3 * 12^2", value=21.6, unit="J")],
        ),
        Step(
            number=2,
            kind=STEP_KIND_COMPUTE,
            ask="All of it turns into motion: how fast is the stone?",
            explanation="Set the kinetic energy equal to the potential energy and solve for the speed.",
            formula="v = sqrt(2 * E / m)",
            expression="math.sqrt(2 * E / m)",
            inputs=[ENERGY, STONE],
            result=SPEED,
        ),
    ],
    answer=SPEED,
    tolerance=0.01,
)


class Shelf:
    """A book of a few problems."""

    draw: Callable[[int], Problem] | None = None

    def __init__(self, problems: Sequence[Problem] = (CART, STONE_FALL)) -> None:
        self._problems = {problem.question: problem for problem in problems}

    def recognise(self, question: str) -> Problem | None:
        return self._problems.get(question)
