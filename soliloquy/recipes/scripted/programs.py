"""Describes a calculation, and writes its program from the description alone."""

import builtins
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from soliloquy.recipes.codegen import UNSETTLED
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook, compose, load_tables
from soliloquy.recipes.scripted.program_faults import without_operand
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.laws import Law
from soliloquy.truth.number_format import format_exact, with_unit
from soliloquy.v1.conversation_pb2 import Quantity, Step

# The patterns below match the marks that every wording in phrases/programs.toml shares.
_VALUE = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_TARGET = re.compile(r"`\w+` \(([^`)]*)\)(?! =)")
_INPUT = re.compile(rf"`(\w+)` \(([^`)]*)\) = {_VALUE}(?:(?: |(?=°))([^;`]*?))?(?:;|\.\s|\.?$)")
_EXPRESSION = re.compile(r"`(\w+) = ([^`]+)`")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_COMPARED = re.compile(r"`([^`]+)` stands? for .*?`expected = ([^`]+)`.*?`student_answer = ([^`]+)`")
_STUDENT = re.compile(rf"`student_\w+` = {_VALUE}")


class Input(NamedTuple):
    """A quantity of a description, in the order of its parts there."""

    symbol: str
    name: str
    value: str
    unit: str


class Brief(NamedTuple):
    symbol: str
    name: str
    inputs: list[Input]
    expression: str
    student: str


@cache
def _book() -> Phrasebook:
    return Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def description(step: Step, student: float | None, rng: Random) -> str:
    """Describes the calculation of a step and the student's value to compare it with, if there is one."""
    result = step.result
    target = f"`{result.symbol}` ({_plain(result.name)})" + (f", in {result.unit}" if result.unit else "")
    # A step of a solution in prose may state its result alone.
    relation = f"{result.symbol} = {step.expression or format_exact(result.value)}"
    parts = [
        _book().part("programs", "task", target=target),
        _book().part("programs", "inputs", inputs="; ".join(map(_input, step.inputs))),
        _book().part("programs", "relation", formula=step.formula or relation, expression=relation),
    ]
    if student is None:
        return compose(parts, rng)
    value = f"`student_{result.symbol}` = {format_exact(student)}"
    return f"{compose(parts, rng)} {_book().one_of(rng, 'programs', 'student', student=value)}"


def comparison(known: Law, student: Law, rng: Random) -> str:
    """Describes the comparison of an expression or equation in letters with the student's."""
    names = known.symbols
    if len(known.sides[0].text) == 1 and known.sides[0].text not in known.sides[1].symbols:
        names = names - {known.sides[0].text}
        sides = [law.sides[1].text for law in (known, student)]
    else:
        sides = [f"Eq({law.sides[0].text}, {law.sides[1].text})" for law in (known, student)]
    letters = ", ".join(sorted(names))
    return _book().one_of(rng, "programs", "algebra", letters=letters, expected=sides[0], student=sides[1])


def without_input(description: str, rng: Random) -> str:
    """Leaves an input out: one of the list, or an operand where the numbers stand in the calculation alone."""
    inputs = [found[0] for found in _INPUT.finditer(description)]
    if not inputs:
        return _EXPRESSION.sub(lambda found: f"`{without_operand(found[0].strip('`'), rng)}`", description, count=1)
    left_out = rng.choice(inputs)
    if left_out.endswith(";"):
        return description.replace(f"{left_out} ", "", 1)
    return description.replace(f"; {left_out}" if len(inputs) > 1 else left_out, ". ", 1)


def code(reading: ParsedPrompt, rng: Random) -> str:
    description = reading.section("description")
    if description.startswith(UNSETTLED):
        return _answer('finding = "beyond the scripted stand-in"', ["finding"])
    if compared := _COMPARED.search(description):
        return _compare(compared[1], compared[2], compared[3], rng)
    brief = _parse_description(description)
    names = _names(brief, rng)
    result = names[brief.symbol]
    lines = [f"# {_book().one_of(rng, 'programs', 'comment', name=brief.name)}", "import math", ""]
    commented = rng.random() < 0.5
    for known in brief.inputs:
        line = f"{names[known.symbol]} = {known.value}"
        lines.append(f"{line}  # {known.name}{known.unit and f' in {known.unit}'}" if commented else line)
    # A model makes up what it is not told.
    lines += [f"{name} = 1  # assumed" for name in _unknown(brief)]
    expression = _NAME.sub(lambda name: names.get(name.group(), name.group()), brief.expression)
    lines.append(f"{result} = {expression}")
    variables = [result]
    if brief.student:
        lines.append(f"student_{result} = {brief.student}")
        lines.append(f"is_correct = math.isclose(student_{result}, {result}, rel_tol=0.01)")
        variables.append("is_correct")
    return _answer("\n".join(lines), variables)


def _compare(letters: str, expected: str, student: str, rng: Random) -> str:
    """Compares two expressions by their difference, or two equations by what solves them."""
    solves = expected.startswith("Eq(")
    used = ("Eq", "solve") if solves else ("simplify",)
    lines = [
        f"# {_book().one_of(rng, 'programs', 'algebra_comment')}",
        f"from sympy import {', '.join([*used, 'symbols'])}",
        "",
        f'{letters} = symbols("{letters}")',
        f"expected = {expected}",
        f"student_answer = {student}",
        f"is_correct = set(solve(student_answer, {letters})) == set(solve(expected, {letters}))"
        if solves
        else "is_correct = bool(simplify(student_answer - (expected)) == 0)",
    ]
    return _answer("\n".join(lines), ["is_correct"])


def _answer(snippet: str, variables: Sequence[str]) -> str:
    answer = {"Python Code": f"```python\n{snippet}\n```", "Result Variable": ", ".join(variables)}
    return json.dumps({"Python": answer}, ensure_ascii=False)


def _parse_description(description: str) -> Brief:
    target, expression = _TARGET.search(description), _EXPRESSION.search(description)
    if target is None or expression is None:
        raise ModelRefused(
            f"the scripted codegen cannot read this description, which is not the scripted tutor's: "
            f"{description[:200]!r}; use one engine for both tutor and codegen"
        )
    student = _STUDENT.search(description)
    return Brief(
        symbol=expression.group(1),
        name=target.group(1),
        inputs=[Input(*parts) for parts in _INPUT.findall(description)],
        expression=expression.group(2),
        student=student.group(1) if student else "",
    )


def _unknown(brief: Brief) -> list[str]:
    known = {"math", *dir(builtins), *(one.symbol for one in brief.inputs)}
    return [name for name in dict.fromkeys(_NAME.findall(brief.expression)) if name not in known]


def _names(brief: Brief, rng: Random) -> Mapping[str, str]:
    """Chooses the variable names: the symbols, words, or symbols with a worded result."""
    wordy = {known.symbol: _slug(known.name) for known in brief.inputs} | {brief.symbol: _slug(brief.name)}
    style = rng.choice(("symbols", "words", "worded_result"))
    if style == "symbols" or not _usable(list(wordy.values())):
        # A symbol that was read from prose may be none in Python: "cm³".
        return {symbol: symbol if symbol.isidentifier() else f"x{place}" for place, symbol in enumerate(wordy)}
    if style == "words":
        return wordy
    names = {symbol: symbol for symbol in wordy} | {brief.symbol: wordy[brief.symbol]}
    return names if _usable(list(names.values())) else wordy


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def _usable(names: list[str]) -> bool:
    reserved = {"math", "is_correct", "abs", "pow", "sum", "max", "min", "round"}
    return len(set(names)) == len(names) and all(
        name.isidentifier() and not keyword.iskeyword(name) and name not in reserved for name in names
    )


def _input(quantity: Quantity) -> str:
    return f"`{quantity.symbol}` ({_plain(quantity.name)}) = {with_unit(format_exact(quantity.value), quantity.unit)}"


def _plain(name: str) -> str:
    """Removes the marks that delimit a name in a description."""
    return name.replace("(", "").replace(")", "").replace("`", "'")
