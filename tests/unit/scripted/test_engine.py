import ast
import asyncio
import json

import pytest

from soliloquy.recipes.scripted.parsed_prompt import problem_record
from soliloquy.runtime.model import ModelRefused
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step
from soliloquy.v1.model_pb2 import GenerateRequest, Message
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.cases import each_case
from tests.unit.runtime.model.streams import KeptStreams
from tests.unit.scripted.driver import conversation, request
from tests.unit.scripted.problems import CART, STONE_FALL, Shelf

ENGINE = ScriptedEngine(Shelf())
SEEDS = range(60)


def tutor_prompt(reply: str, *, step: int, wrong: int = 0, more: str = "", problem: Problem = CART) -> str:
    return (
        f"<question>{problem.question}</question>"
        + conversation([f"Tutor: {problem.steps[step - 1].ask}", f"Student: {reply}"])
        + f"<progress>Step being worked on: {step} of {len(problem.steps)}\n"
        + f"Wrong answers at this step: {wrong}</progress>{more}"
    )


async def ask(state: str, prompt: str, seed: int = 1, engine: ScriptedEngine = ENGINE) -> str:
    return (await engine.generate(request(state, prompt, seed))).text


async def judged(prompt: str, state: str = "no_python", seed: int = 1) -> tuple[str, str]:
    fields = json.loads(await ask(state, prompt, seed))
    return fields["Evaluation of Student Response"], fields["Action Based on Evaluation"]


async def test_a_completion_says_who_answered_and_counts_its_words() -> None:
    completion = await ENGINE.generate(request("deciding", tutor_prompt("3.6 m/s^2", step=5), 1))
    assert completion.model == "scripted"
    assert completion.prompt_tokens > 20
    assert completion.completion_tokens > 20


async def test_a_latency_is_waited_for() -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await ask("deciding", tutor_prompt("3.6 m/s^2", step=5), engine=ScriptedEngine(Shelf(), latency=0.05))
    assert loop.time() - started >= 0.049


async def test_who_hears_an_answer_hears_it_word_for_word_for_as_long_as_it_takes() -> None:
    loop = asyncio.get_running_loop()
    asked = request("no_python", tutor_prompt("3.6 m/s^2", step=5), 1)
    started = loop.time()
    heard = KeptStreams()
    completion = await ScriptedEngine(Shelf(), latency=0.05).generate(asked, heard)
    assert loop.time() - started >= 0.049
    assert completion == await ENGINE.generate(asked)
    [words] = heard.answers
    assert "".join(words) == completion.text
    assert len(words) > 20


@pytest.mark.parametrize("tag", ["question", "conversation", "progress"])
async def test_a_missing_section_is_named(tag: str) -> None:
    prompt = tutor_prompt("3.6 m/s^2", step=5).replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    with pytest.raises(ModelRefused, match=f"the prompt soliloquy/deciding has no <{tag}> section"):
        await ask("deciding", prompt)


async def test_a_question_outside_the_book_is_refused() -> None:
    prompt = tutor_prompt("6 N", step=1).replace(CART.question, "How long is a rope?")
    with pytest.raises(ModelRefused, match="How long is a rope"):
        await ask("deciding", prompt)


@pytest.mark.parametrize(
    ("state", "prompt", "reason"),
    [
        ("grading", "", "cannot answer the prompt 'soliloquy/grading'"),
        ("deciding", tutor_prompt("6 N", step=5).replace("5 of 5", "9 of 5"), "step 9 of a problem with 5 steps"),
        ("no_python", tutor_prompt("F = m/a", step=3).replace("Wrong answers", "Misses"), "Wrong answers at this step"),
        ("use_python", "<description>Divide.</description>", "cannot read this description"),
        (
            "student",
            f'<question>{CART.question}</question><conversation></conversation><intent kind="sly">x</intent>',
            "'sly'",
        ),
    ],
)
async def test_a_request_it_cannot_serve_is_refused_with_the_reason(state: str, prompt: str, reason: str) -> None:
    with pytest.raises(ModelRefused, match=reason):
        await ask(state, prompt)


async def test_sections_are_found_among_instructions_that_mention_them() -> None:
    instructions = "You find the talk in <conversation> and the task in <question>; never write </conversation>.\n"
    messages = [
        Message(role="system", text=instructions),
        Message(role="user", text=tutor_prompt("3.6 m/s^2", step=5)),
    ]
    asked = GenerateRequest(prompt="soliloquy/deciding", messages=messages, seed=1)
    assert json.loads((await ENGINE.generate(asked)).text)["Use Python"] == "y"


async def test_a_failed_calculation_leaves_the_answer_unjudged() -> None:
    prompt = tutor_prompt("It is 3.6 m/s^2.", step=5, more="<calculation>failed</calculation>")
    for seed in SEEDS:
        assert await judged(prompt, seed=seed) == ("d", "6")


async def test_a_number_nobody_calculated_is_not_judged() -> None:
    assert await judged(tutor_prompt("It is 3.6 m/s^2.", step=5)) == ("d", "6")


@pytest.mark.parametrize(
    ("reply", "evaluation"), [("3.61 m/s^2", "b"), ("I get 3.9 m/s^2", "a"), ("a = 1.62 / 0.45 = 3.6 m/s^2 ok?", "b")]
)
async def test_without_a_verdict_the_output_is_compared_with_the_answer(reply: str, evaluation: str) -> None:
    prompt = tutor_prompt(reply, step=5, more="<output>\nacceleration = 3.6\n</output>")
    assert (await judged(prompt, "received_python"))[0] == evaluation


@each_case
async def test_a_reply_without_a_number_is_judged_by_what_it_says(step: int, reply: str, evaluation: str) -> None:
    assert (await judged(tutor_prompt(reply, step=step)))[0] == evaluation


def sea_water() -> Problem:
    """Quantities that are awkward to write down and read back."""
    heat = Quantity(symbol="Q", name="heat (absorbed)", value=8.02e-17, unit="J")
    step = Step(
        number=1,
        ask="How much heat is absorbed?",
        formula="Q = c * m * ΔT",
        expression="c * m * ΔT",
        inputs=[
            Quantity(symbol="c", name="specific heat", value=4010.0, unit="J/(kg*K)"),
            Quantity(symbol="m", name="mass; of the drop", value=1e-19, unit="kg"),
            Quantity(symbol="ΔT", name="rise in temperature", value=0.2, unit="K"),
        ],
        result=heat,
    )
    return Problem(id="sea", question="A tiny drop warms up.", steps=[step], answer=heat, tolerance=0.01)


@pytest.mark.parametrize("problem", [CART, STONE_FALL, sea_water()], ids=lambda problem: problem.id)
async def test_code_is_written_from_the_description_alone(problem: Problem) -> None:
    engine = ScriptedEngine(Shelf([problem]))
    step = problem.steps[-1]
    for seed in SEEDS:
        reply = f"It is {step.result.value * 1.5:.4g} {step.result.unit}."
        decision = json.loads(
            await ask("deciding", tutor_prompt(reply, step=step.number, problem=problem), seed, engine)
        )
        description = f"<description>{decision['Description']}</description>"
        fields = json.loads(await ask("use_python", description, seed, engine))["Python"]
        code = fields["Python Code"].removeprefix("```python\n").removesuffix("\n```")
        constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
        given = {float(value) for value in constants if isinstance(value, int | float)}
        assert {known.value for known in step.inputs} <= given
        assert float(f"{step.result.value * 1.5:.4g}") in given
        assigned = {line.partition(" = ")[0] for line in code.splitlines() if " = " in line}
        assert set(fields["Result Variable"].split(", ")) <= assigned
        assert "#" in code
        assert "is_correct = math.isclose(student_" in code
        assert "print" not in code
        assert "input(" not in code


async def test_code_holds_no_student_value_that_nobody_gave() -> None:
    prompt = tutor_prompt("Please just tell me the answer.", step=5)
    decision = json.loads(await ask("deciding", prompt))
    code = await ask("use_python", f"<description>{decision['Description']}</description>")
    assert "student" not in code
    assert "is_correct" not in code


@pytest.mark.parametrize("known", [True, False])
async def test_the_steps_of_the_record_are_played_in_place_of_those_of_the_file(known: bool) -> None:
    record = Problem()
    record.CopyFrom(CART)
    record.steps[-1].result.value = 99.5
    said = f"I get 99.5 {record.steps[-1].result.unit}."
    asked = request("reader", f'<question>{CART.question}</question><message by="student">{said}</message>', 1)
    asked.problem = problem_record(record) if known else b""
    claims = json.loads((await ENGINE.generate(asked)).text)["Claims"]
    assert (claims is not None) is known
