"""How the scripted tutor reads a person's words: `tests/integration/chat/journeys` has whole conversations."""

from random import Random
from typing import NamedTuple

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.soliloquy.scripted.person.equations import equations_in, is_identity
from soliloquy.recipes.soliloquy.scripted.person.message import Act
from soliloquy.recipes.soliloquy.scripted.person.reading import read
from soliloquy.recipes.soliloquy.scripted.person.tutor import decide
from soliloquy.recipes.soliloquy.truth import assess
from soliloquy.truth.laws import plain
from soliloquy.v1.conversation_pb2 import Conversation, Problem, Quantity, Step, StepKind, StudentReply, Turn
from tests.unit.recipes.conversations import problem as car


class Book(NamedTuple):
    problem: Problem
    draw: None = None

    def recognise(self, question: str) -> Problem | None:
        return self.problem


def rope() -> Problem:
    """A law, a number from it in metres, and the same in centimetres."""
    length, loops = (
        Quantity(symbol="L", name="length", value=3.3, unit="m"),
        Quantity(symbol="n", name="loops", value=6),
    )
    wave = Quantity(symbol="w", name="wavelength", value=1.1, unit="m")
    return Problem(
        question="How long is a wave on a rope of 3.3 m that swings in 6 loops?",
        tolerance=0.01,
        steps=[
            Step(number=1, kind=StepKind.STEP_KIND_EQUATION, ask="How does L depend on w?", formula="L = n × w / 2"),
            Step(
                number=2,
                kind=StepKind.STEP_KIND_REARRANGE,
                ask="How long is a wave?",
                formula="w = 2 × L / n",
                expression="2 * L / n",
                inputs=[length, loops],
                result=wave,
            ),
            Step(
                number=3,
                kind=StepKind.STEP_KIND_CONVERT,
                ask="How many centimetres are that?",
                formula="w_cm = w × 100",
                expression="w * 100",
                inputs=[wave],
                result=Quantity(symbol="w_cm", name="wavelength", value=110, unit="cm"),
            ),
        ],
    )


def prompt(text: str, step: int = 1, problem: Problem | None = None) -> ParsedPrompt:
    progress = f"Step being worked on: {step} of 3\nWrong answers at this step: 0"
    sections = {"question": "?", "conversation": f"Tutor: Hi.\nStudent: {text}", "progress": progress}
    tagged = "\n".join(f"<{tag}>\n{body}\n</{tag}>" for tag, body in sections.items())
    return ParsedPrompt("soliloquy/deciding", tagged, Book(problem or rope()))


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("$\\frac{30}{100} = 0.3$", "((30)/(100)) = 0.3"),
        ("$T = m_{2} g \\approx 46.2\\,\\text{N}$", "T = m_2 g ≈ 46.2 N"),
        ("115 − 35 = **80**", "115 - 35 = 80"),
        ("isn't it 20 times 3?", "isn't it 20 × 3?"),
        ("308 $", "308 $"),
    ],
)
def test_a_person_s_notation_becomes_plain_text(text: str, read_as: str) -> None:
    assert plain(text) == read_as


@pytest.mark.parametrize(
    ("text", "step", "act"),
    [
        ("L = n w / 2", 1, Act.EQUATION),
        ("l = n*w", 1, Act.EQUATION),
        ("n L w = w L n", 1, Act.UNREADABLE),
        ("a law of physics, the loops are long", 1, Act.UNREADABLE),
        ("1.1 m", 1, Act.NUMBER),
        ("1.1", 2, Act.NUMBER),
        ("110 cm", 2, Act.NUMBER),
        ("0.55 m", 2, Act.NUMBER),
        ("3 kg", 2, Act.UNREADABLE),
        ("w = 2 L / n", 2, Act.PART),
        ("1.1 m", 3, Act.KNOWN),
        ("I have 3 cats and 2 dogs", 2, Act.OFF_TOPIC),
        ("is it 5", 1, Act.UNREADABLE),
        ("What is the capital of France?", 1, Act.OFF_TOPIC),
        ("I don't understand, can you explain?", 1, Act.HINT),
        ("what does the wavelength mean?", 2, Act.CONCEPT),
        ("show me this step", 2, Act.SOLUTION),
        ("thanks!", 2, Act.THANKS),
    ],
)
def test_each_message_is_read_for_what_it_is(text: str, step: int, act: Act) -> None:
    assert read(prompt(text, step)).act is act


def test_a_number_of_a_later_step_is_calculated_for_at_that_step_and_in_its_unit() -> None:
    said = read(prompt("so the wavelength is 1.1 m", 1))
    assert (said.step.number, said.value) == (2, 1.1)
    assert "`student_w` = 1.1" in decide(prompt("so the wavelength is 1.1 m", 1), Random(0))


def test_an_equation_is_tested_by_a_program_and_one_that_always_holds_says_nothing() -> None:
    assert "`student_ratio` = 1" in decide(prompt("L = n w / 2"), Random(0))
    [always, law] = equations_in("w = w; L = n w / 2", rope())
    assert is_identity(always)
    assert not is_identity(law)


def test_small_talk_is_off_topic_in_every_problem() -> None:
    for seed in range(20):
        problem = load_bank("physics").problem(seed, 0)
        assert read(prompt("What is the capital of France?", 1, problem)).act is Act.OFF_TOPIC, problem.question


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("3,6 kN", True),
        ("It is three point six kN.", True),
        ("$F = 3{,}6\\,\\text{kN}$", True),
        ("3,7 kN", False),
        ("four point six kN", False),
    ],
)
def test_a_kept_chat_is_judged_by_the_number_that_the_person_meant(text: str, right: bool) -> None:
    turn = Turn(number=1, student=StudentReply(text=text))
    [truth] = assess(Conversation(problem=car(), turns=[turn], person=True))
    assert truth.claim.right is right
