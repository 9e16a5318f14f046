"""Describes a calculation with its program, and writes the program of a description."""

import builtins
import json
import keyword
import re
from collections.abc import Mapping
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.standin.program_faults import without_operand
from soliloquy.truth.laws import Law
from soliloquy.truth.number_format import format_exact, format_quantity
from soliloquy.v1.conversation_pb2 import Step

# The statements of a description.
_PROGRAM = re.compile(r"In Python: `([^`]*)`")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_ASSIGNED = re.compile(r"^([^\W\d]\w*) = ")
_EXACT = 0.01


def description(step: Step, student: float | None) -> str:
    """Describes the calculation of a step, and the student's value to compare it with, if there is one."""
    names = _names(step)
    result = names[step.result.symbol]
    # A step of a solution in prose may state its result alone.
    expression = _NAME.sub(lambda name: names.get(name[0], name[0]), step.expression)
    lines = [f"{names[known.symbol]} = {format_exact(known.value)}" for known in step.inputs]
    lines.append(f"{result} = {expression or format_exact(step.result.value)}")
    known = "; ".join(f"the {one.name or one.symbol} is {format_quantity(one)}" for one in step.inputs)
    unit = f", in {step.result.unit}" if step.result.unit else ""
    told = f"Calculate the {step.result.name or step.result.symbol}{unit}." + (f" Known: {known}." if known else "")
    if student is not None:
        told += f" The student has {format_exact(student)}: is that right?"
        lines += [f"student_answer = {format_exact(student)}"]
        lines += [f"is_correct = math.isclose(student_answer, {result}, rel_tol={_EXACT})"]
    return f"{told} In Python: `{'; '.join(lines)}`"


def comparison(known: Law, student: Law) -> str:
    """Describes the comparison of an expression or equation in letters with the student's."""
    names, laws = known.symbols, (known, student)
    solves = len(known.sides[0].text) > 1 or known.sides[0].text in known.sides[1].symbols
    letters = ", ".join(sorted(names if solves else names - {known.sides[0].text}))
    sides = [law.sides[1].text for law in laws]
    lines = [f"{letters} = sympy.symbols('{letters}')"]
    if solves:
        sides = [f"sympy.solve(sympy.Eq({law.sides[0].text}, {law.sides[1].text}), {letters})" for law in laws]
        lines.append(f"is_correct = set({sides[1]}) == set({sides[0]})")
    else:
        lines.append(f"is_correct = bool(sympy.simplify({sides[1]} - ({sides[0]})) == 0)")
    return f"Compare the student's {sides[1]} with {sides[0]} by algebra. In Python: `{'; '.join(lines)}`"


def without_input(described: str, rng: Random) -> str:
    """Leaves an input of a description out, or an operand where the numbers stand in the calculation alone."""
    found = _PROGRAM.search(described)
    lines = found[1].split("; ") if found else []
    inputs = [line for line in lines if re.fullmatch(r"\w+ = [-+.e\d]+", line) and not line.startswith("student")]
    if not found:
        return described
    if not inputs:
        return described.replace(found[1], without_operand("\n".join(lines), rng).replace("\n", "; "))
    lines.remove(rng.choice(inputs))
    return described.replace(found[1], "; ".join(lines))


def code(scene: Scene, rng: Random) -> str:
    """Writes the program that the description has; of another speaker's description nothing is known."""
    found = _PROGRAM.search(scene.slot("description"))
    lines = found[1].split("; ") if found else ['finding = "beyond the stand-in"']
    # A model makes up what it is not told.
    known = {"math", "sympy", "rel_tol", *dir(builtins), *(line.partition(" = ")[0] for line in lines)}
    used = {name for line in lines for name in _NAME.findall(re.sub(r"(['\"]).*?\1", "", line.partition(" = ")[2]))}
    lacking = [] if "sympy" in used else [f"{name} = 1  # assumed" for name in sorted(used - known)]
    names = [found[1] for line in lines if (found := _ASSIGNED.match(line)) and not found[1].startswith("student")]
    results = names[-2:] if names[-1] == "is_correct" and "sympy" not in used else names[-1:]
    text = "\n".join([f"import {'sympy' if 'sympy' in used else 'math'}", "", *lacking, *lines])
    answer = {"Python Code": f"```python\n{text}\n```", "Result Variable": ", ".join(results)}
    return json.dumps({"Python": answer}, ensure_ascii=False)


def _names(step: Step) -> Mapping[str, str]:
    """Returns the variables of a step: its symbols, as far as Python has them."""
    symbols = [known.symbol for known in (*step.inputs, step.result)]
    return {
        symbol: symbol if symbol.isidentifier() and not keyword.iskeyword(symbol) else f"x{place}"
        for place, symbol in enumerate(symbols)
    }
