"""`soliloquy problems show`."""

from pathlib import Path

import click
from google.protobuf.json_format import MessageToDict, ParseDict
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.terminal import echo, open_console
from soliloquy.cli.visible import json_line, visible
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.problem_row import kind_name, strategy_name
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.seeds import seed
from soliloquy.truth.ledger import doubt_about
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Problem, Slip, Step


@click.command(cls=Command)
@click.argument("problem", metavar="BANK/FAMILY[#NUMBER]|FILE:LINE")
def show(*, as_json: bool = AS_JSON, problem: str) -> None:
    """Show a problem with its steps, answer and mistakes."""
    found = _bank_problem(problem) if problem.partition("/")[0] in bank_names() else _file_problem(problem)
    if as_json:
        echo(json_line(MessageToDict(found, preserving_proto_field_name=True)))
    else:
        _print(ParseDict(visible(MessageToDict(found)), Problem()), open_console())


def _bank_problem(name: str) -> Problem:
    bank_name, _, rest = name.partition("/")
    family, _, number = rest.partition("#")
    bank = load_bank(bank_name)
    if family not in bank.files:
        wanted = f"has no family {family!r}{did_you_mean(family, bank.files)}" if family else "is a bank: add a family"
        raise Failure(f"{bank_name} {wanted}; soliloquy problems list {bank_name} lists them")
    if number and not number.isdecimal():
        raise Failure(f"invalid problem number {number!r}: use {bank_name}/{family}#17")
    return bank.family(family).problem(int(number) if number else seed(name))


def _file_problem(name: str) -> Problem:
    path, _, line = name.rpartition(":")
    if not path or not line.isdecimal():
        raise Failure(
            f"{name!r} is not a problem: use FILE:LINE or BANK/FAMILY, with one of the banks {', '.join(bank_names())}"
        )
    problems = read_problems(Path(path))
    for problem in problems:
        if problem.source.rpartition(":")[2] == str(int(line)):
            return problem
    raise Failure(f"{path} has no problem on line {line}")


def _print(problem: Problem, console: Console) -> None:
    console.print(Text(f"{problem.source}  {problem.topic}", style="dim"))
    console.print(Panel(Text(problem.question), title="problem", title_align="left"))
    for step in problem.steps:
        console.print(Text.assemble((f"\n{step.number}  ", "bold"), (step.ask, "bold magenta")))
        console.print(Padding(_taken(step), (0, 0, 0, 3)))
    if problem.HasField("answer"):
        answer = format_value(problem.answer.value, problem.answer.unit)
        console.print(Text.assemble("\nanswer: ", (answer, "bold green"), f"  within {problem.tolerance:.2g}"))
        if doubt := doubt_about(problem):
            console.print(Text(f"unverified: {doubt}", style="yellow"))


def _taken(step: Step) -> Text:
    text = Text(f"{kind_name(step.kind)}: {step.explanation}")
    if step.formula:
        text.append(f"\n{step.formula}")
    if step.inputs:
        known = ", ".join(f"{own.symbol} = {format_value(own.value, own.unit)}" for own in step.inputs)
        text.append(f"   with {known}", style="dim")
    if step.HasField("result"):
        text.append(f"\n{step.result.symbol} = {format_value(step.result.value, step.result.unit)}", style="green")
        text.append(f"   {step.result.name}", style="dim")
    for slip in step.slips:
        text.append(f"\n{_mistake(slip, numeric=step.HasField('result'))}", style="red")
    return text


def _mistake(slip: Slip, *, numeric: bool) -> str:
    value = f" = {format_value(slip.value, slip.unit)}" if numeric else ""
    kind = f"wrong {strategy_name(slip.strategy)}".rstrip()
    because = f'   "{slip.because}"' if slip.because else ""
    return f"{kind}: {slip.working}{value}{because}"
