"""`soliloquy show`: a conversation in the terminal, with the tutor's hidden soliloquies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from soliloquy.cli.command import Command, setting
from soliloquy.cli.tables import SUPPORTS, ending
from soliloquy.cli.terminal import open_console, visible
from soliloquy.dataset.labelling import installed
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.statistics import LETTERS
from soliloquy.dataset.view import conversation_view
from soliloquy.problems.solving.independent_programs import program_prompt
from soliloquy.recipes.claims import judged_claims
from soliloquy.recipes.labels import columns_of
from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, Rewind, StudentReply, TutorReply

# The longest excerpt of an answer that could not be used.
_MOST_RAW = 400


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
@click.argument("wanted", metavar="[ID]", required=False)
def show(
    folder: str,
    *,
    rejected: bool = setting("Show a rejected conversation, and why it was rejected."),
    prompts: bool = setting("Show the prompts of each turn, from the run's own texts or the installed recipe's."),
    wanted: str | None,
) -> None:
    """Show a conversation with the tutor's hidden soliloquies.

    ID may be a prefix of an id, as `soliloquy tail` lists them; without one, shows the first conversation. With
    --rejected and no ID, also lists all rejected conversations with their reasons.
    """
    console = open_console(soft_wrap=False)
    dataset = Dataset(folder)
    everything = dataset.conversations(rejected=rejected)
    conversation = dataset.find(wanted, rejected=rejected) if wanted else next(everything, None)
    if conversation is None:
        raise Failure(f"{folder} holds no {'rejected' if rejected else 'accepted'} conversations yet")
    rejections = dataset.rejections() if rejected else {}
    if not prompts:
        show_conversation(conversation, console, rejections.get(conversation.id, ()))
        if not wanted:
            show_rejections(rejections, console)
    elif not conversation.run.max_turns:
        raise Failure(f"{conversation.id} was imported, so its prompts are unknown")
    else:
        programs = (call for call in conversation.problem.enrichment.calls if call.role == "codegen")
        asked_before = [(0, program_prompt(conversation.problem)) for _ in programs]
        recipe = find(conversation.run.recipe)
        try:
            asked = [*asked_before, *recipe.prompts(conversation)]
        except (LookupError, ValueError, TypeError) as error:
            raise Failure(
                f"{conversation.id} does not follow its recipe ({error!r}), so its prompts are unknown"
            ) from error
        show_prompts(asked, console)


def record_of(conversation: Conversation) -> dict[str, Any]:
    """Returns the conversation as readable JSON."""
    return find(conversation.run.recipe or DEFAULT).record(conversation)


def show_conversation(conversation: Conversation, console: Console, reasons: Sequence[str] = ()) -> None:
    """`reasons` say why the conversation was rejected."""
    recipe, view = conversation.run.recipe, visible(conversation_view(conversation))
    model = next((call.model for turn in conversation.turns for call in turn.calls), "unknown")
    student = f"  student: {view['persona']}" if view["persona"] else ""
    tutor = f"  tutor: {view['tutor_persona']}" if view["tutor_persona"] else ""
    console.print(Text(f"{view['id']}  {view['source']}  model: {visible(model)}{student}{tutor}", style="dim"))
    if installed(recipe) is None:
        console.print(Text(f"recipe {visible(recipe)}: not installed, so its labels are not shown", style="yellow"))
    console.print(_panel(view["question"], "problem"))
    if view["outline"]:
        console.print(_panel(view["outline"], "outline", style="dim"))
    for part in view["parts"] or ():
        console.print(_panel(part["text"], part["title"], style="dim"))
    _show_unusable(conversation.problem.enrichment.calls, console)
    ledger = ledger_of(conversation.problem)
    for told, turn in zip(conversation.turns, view["turns"], strict=True):
        if turn["student"] is not None:
            console.print(_student(turn))
            _show_claims(told.student, ledger, console)
        console.print(Padding(_soliloquy(turn, recipe), (0, 0, 0, 4)))
        if told.calculation.overruled:
            instead = told.calculation.settled_output or "nothing is settled"
            console.print(_aside(f"the program is overruled: {' '.join(instead.splitlines())}"))
        _show_unusable(told.calls, console)
        for one in turn["rejected"] or ():
            why = f"sent back to the {one['role']} ({one['rule']}): {one['because']}"
            console.print(Padding(Text.assemble((why, "red dim"), "\n", (one["text"], "dim")), (0, 0, 0, 4)))
        if turn["tutor"]:
            console.print(Text.assemble(("Tutor    ", "bold magenta"), turn["tutor"]))
            _show_claims(told.tutor, ledger, console)
    for rewind in conversation.rewinds:
        console.print(_taken_back(rewind))
    console.print(Text(f"\n{ending(conversation.ending)} after {len(view['turns'])} turns", style="dim"))
    for reason in visible(reasons):
        console.print(Text(f"rejected: {reason}", style="red"))
    for mark in visible(found.check(conversation).marks) if (found := installed(recipe)) else ():
        console.print(Text(f"marked: {mark}", style="yellow"))


def _show_unusable(calls: Iterable[ModelCall], console: Console) -> None:
    for call in calls:
        for raw in visible(call.raw[:-1]):
            shown = f"{raw[:_MOST_RAW]}…" if len(raw) > _MOST_RAW else raw
            why = f"unusable answer to {visible(call.prompt)}, asked again:"
            console.print(Padding(Text.assemble((why, "red dim"), "\n", (shown, "dim")), (0, 0, 0, 4)))


def _taken_back(rewind: Rewind) -> RenderableType:
    numbers = [turn.number for turn in rewind.turns]
    shown = Text(
        visible(f"\ntaken back, turns {numbers[0]} to {numbers[-1]} ({rewind.rule}): {rewind.because}\n"), "red dim"
    )
    for turn in rewind.turns:
        shown.append(visible(f"Student  {turn.student.text}\nTutor    {turn.tutor.text}\n"), "dim")
    return shown


def show_rejections(rejections: Mapping[str, Sequence[str]], console: Console) -> None:
    for rejected, reasons in rejections.items():
        console.print(Text(visible(f"{rejected[:8]}  {'; '.join(reasons)}"), style="dim"), soft_wrap=True)


def show_prompts(prompts: list[tuple[int, Any]], console: Console) -> None:
    for turn, prompt in prompts:
        console.rule(Text(f"turn {turn}: {prompt.name}"), align="left")
        for role, text in prompt.said:
            console.print(Text(f"[{role}]", style="bold"))
            console.print(Text(visible(text)))


def _panel(text: str, title: str, style: str = "") -> RenderableType:
    return Panel(Text(text, style=style), title=title, title_align="left", border_style=style or "none")


def _student(turn: dict[str, Any]) -> RenderableType:
    line = Text.assemble(("\nStudent  ", "bold cyan"), turn["student"])
    if turn["intent"] == "wrong":
        line.append(f"  ({turn['drawn']})", style="red dim")
    return line


def _show_claims(said: StudentReply | TutorReply, ledger: Ledger, console: Console) -> None:
    if claims := judged_claims(said, ledger):
        console.print(_aside(claims))


def _aside(text: str) -> RenderableType:
    return Padding(Text(visible(text), style="dim"), (0, 0, 0, 9), expand=False)


def _soliloquy(turn: dict[str, Any], recipe: str) -> RenderableType:
    parts: list[RenderableType] = []
    if turn["description"] is None:
        parts.append(Text("needs no calculation", style="dim"))
    else:
        parts.append(Text(f"calculate: {turn['description']}", style="dim"))
    for attempt in turn["attempts"]:
        parts.append(Syntax(attempt["code"], "python", theme="ansi_dark", background_color="default", word_wrap=True))
        parts.append(_output(attempt))
    if remarks := _remarks(turn, recipe):
        parts.append(Text(remarks, style="dim"))
    return Panel(Group(*parts), title="soliloquy", title_align="left", style="yellow", border_style="dim")


def _remarks(turn: dict[str, Any], name: str) -> str:
    """Says how the tutor assessed the message, and the recipe's labels of the reply."""
    recipe, letter = installed(name), LETTERS.get(turn["evaluation"] or "", "")
    remarks = [f"the message is {recipe.evaluations[letter]}"] if recipe and letter in recipe.evaluations else []
    if support := SUPPORTS.get(turn["verification"] or ""):
        remarks = [", ".join([*remarks, support])]
    words = {column.title: column.words for column in columns_of(name).values()}
    for title, value in (turn["labels"] or {}).items():
        if value:
            meaning = words.get(title, {}).get(value, "")
            remarks.append(f"{title} {value}" + (f" ({meaning})" if meaning else ""))
    return "; ".join(remarks)


def _output(attempt: dict[str, Any]) -> Text:
    if attempt["status"] == "ok":
        values = ", ".join(f"{value['name']} = {value['shown']}" for value in attempt["values"])
        return Text(f"→ {values}", style="bold green")
    return Text(f"→ {attempt['status']}: {attempt['error']}", style="bold red")
