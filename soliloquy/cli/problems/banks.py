"""`soliloquy problems list`, `show` and `sample`: what the banks hold."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from google.protobuf.json_format import MessageToDict, ParseDict
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, COUNT, NEW_PROBLEM_FILE, SEED, writing_to
from soliloquy.cli.terminal import answer, echo, json_line, open_console, visible
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.bank.family import Family
from soliloquy.problems.bank.sampling import sample_lines
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.recipes.codes import word_of
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import seed
from soliloquy.truth.ledger import doubt_about
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Problem, Slip, Step, StepKind

# Columns that must not wrap, so that names can be copied.
NO_WRAP = ("bank", "topic", "family")


@click.command("list", cls=Command)
@click.argument("bank", metavar="[BANK]", required=False)
def list_(*, as_json: bool = AS_JSON, bank: str | None) -> None:
    """List the problem banks, or the families of one bank."""
    if bank is not None and bank not in bank_names():
        raise Failure(f"there is no bank {bank!r}: the banks are {', '.join(bank_names())}")
    if bank is None:
        banks = map(load_bank, bank_names())
        rows = [{"bank": one.name, "families": len(one.names), "topics": sorted(one.by_topic)} for one in banks]
    else:
        families = load_bank(bank)
        rows = [_of_family(families.family(name)) for name in families.names]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name, value in rows[0].items():
        justify: JustifyMethod = "right" if isinstance(value, int) else "left"
        table.add_column(name, justify=justify, no_wrap=name in NO_WRAP, min_width=len(name))
    for row in rows:
        table.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
    answer(rows, [table], as_json=as_json)


def _of_family(family: Family) -> dict[str, Any]:
    return {
        "topic": family.topic,
        "family": family.name,
        "difficulty": family.file.difficulty,
        "steps": [word_of(StepKind, step.outline.kind) for step in family.steps],
        "title": family.file.title,
    }


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
    text = Text(f"{word_of(StepKind, step.kind)}: {step.explanation}")
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
    kind = f"wrong {word_of(ErrorStrategy, slip.strategy)}".rstrip()
    because = f'   "{slip.because}"' if slip.because else ""
    return f"{kind}: {slip.working}{value}{because}"


@click.command(cls=Command)
@click.argument("bank", metavar="BANK")
def sample(
    *,
    count: int = setting("Number of problems.", type=COUNT),
    seed: int = SEED,
    topics: tuple[str, ...] = setting("Only problems of this topic; may be repeated.", "--topic"),
    out: Path | None = setting("The problem file to write.  [default: standard output]", type=NEW_PROBLEM_FILE),
    bank: str,
) -> None:
    """Draw problems from a bank into a problem file.

    The problems are spread evenly over the topics and their families, and none is drawn twice. The same options draw
    the same problems.
    """
    if bank not in bank_names():
        raise Failure(f"there is no bank {bank!r}: the banks are {', '.join(bank_names())}")
    source = load_bank(bank)
    for topic in topics:
        if topic not in source.by_topic:
            raise Failure(f"{bank} has no topic {topic!r}: its topics are {', '.join(sorted(source.by_topic))}")
    drawn = _counted(sample_lines(source, seed, count, topics), bank, count)
    if out is None:
        sys.stdout.buffer.writelines(drawn)
        return
    with writing_to(out), atomic_file(out) as file:
        file.writelines(drawn)
    echo(f"{count} problems in {out}")


def _counted(batches: Iterator[bytes], bank: str, count: int) -> Iterator[bytes]:
    found = 0
    for batch in batches:
        found += batch.count(b"\n")
        yield batch
    if found < count:
        raise Failure(f"{bank} has only {found} of {count} such problems: use a lower --count or more topics")
