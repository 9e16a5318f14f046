"""A conversation in the terminal, with the tutor's hidden soliloquies."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from soliloquy.recipes.recipe import DEFAULT, find


def show_index(records: Iterable[dict[str, Any]], console: Console) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    table.add_column("id", width=8)
    table.add_column("turns", justify="right", width=5)
    table.add_column("python", justify="right", width=6)
    table.add_column("topic", width=16)
    table.add_column("question", ratio=1, no_wrap=True, overflow="ellipsis")
    for record in records:
        python = sum(turn["soliloquy"]["use_python"] for turn in record["turns"])
        problem = record["problem"]
        table.add_row(record["id"][:8], str(len(record["turns"])), str(python), problem["topic"], problem["question"])
    console.print(table)


def show_conversation(record: dict[str, Any], console: Console) -> None:
    problem, recipe = record["problem"], find(record["recipe"] or DEFAULT)
    model = next((call["model"] for turn in record["turns"] for call in turn["calls"]), "unknown")
    student = f"  student: {name}" if (name := "a person" if record["person"] else record.get("persona")) else ""
    console.print(Text(f"{record['id']}  {problem['source']}  model: {model}{student}", style="dim"))
    console.print(Panel(Text(problem["question"]), title="problem", title_align="left"))
    if enrichment := problem.get("enrichment"):
        console.print(_enrichment(enrichment, record.get("confusion"), record.get("plan")))
    for turn in record["turns"]:
        if turn["student"]:
            console.print(_student(turn["student"]))
        console.print(Padding(_soliloquy(turn, remark=recipe.remark(turn)), (0, 0, 0, 4)))
        if turn["tutor"]:
            console.print(_tutor(turn["tutor"]))
    for opinion in record.get("opinions", ()):
        console.print(_opinion(opinion))
    console.print(Text(f"\nended: {record['ending']} after {len(record['turns'])} turns", style="dim"))


def show_prompts(prompts: list[tuple[int, Any]], console: Console) -> None:
    for turn, prompt in prompts:
        console.rule(Text(f"turn {turn}: {prompt.name}"), align="left")
        for role, text in prompt.said:
            console.print(Text(f"[{role}]", style="bold"))
            console.print(Text(text))


def _enrichment(
    enrichment: dict[str, Any], confusion: dict[str, Any] | None, plan: dict[str, Any] | None
) -> RenderableType:
    if enrichment["plain_because"]:
        return Text(f"not enriched: {enrichment['plain_because']}", style="red dim")
    if confusion:
        return Panel(Text(confusion["solution"]), title="the student's solution", title_align="left", style="red")
    if plan:
        asked = "\n".join(f"{one['question']} ({one['answer']})" for one in plan["questions"])
        return Panel(Text(asked, style="dim"), title="plan", title_align="left", border_style="dim")
    return Panel(Text(enrichment["outline"], style="dim"), title="outline", title_align="left", border_style="dim")


def _student(student: dict[str, Any]) -> RenderableType:
    line = Text.assemble(("\nStudent  ", "bold cyan"), student["text"])
    if student["intent"] == "wrong":
        how = student.get("strategy") or student.get("belief") or student.get("learner_state")
        line.append(f"  (drawn wrong: {how})", style="red dim")
    return line


def _soliloquy(turn: dict[str, Any], remark: str) -> RenderableType:
    soliloquy = turn["soliloquy"]
    parts: list[RenderableType] = []
    if not soliloquy["use_python"]:
        parts.append(Text("needs no calculation", style="dim"))
    else:
        parts.append(Text(f"calculate: {soliloquy['description']}", style="dim"))
    for attempt in soliloquy["attempts"]:
        parts.append(Syntax(attempt["code"], "python", theme="ansi_dark", background_color="default", word_wrap=True))
        parts.append(_output(attempt))
    parts.append(Text(remark, style="dim"))
    return Panel(Group(*parts), title="soliloquy", title_align="left", style="yellow", border_style="dim")


def _opinion(opinion: dict[str, str]) -> Text:
    ruling = (f"{opinion['criterion']}: {opinion['ruling']}", "red" if opinion["ruling"] == "no" else "green")
    return Text.assemble(ruling, f"  {opinion['judge']}: {opinion['because']}")


def _output(attempt: dict[str, Any]) -> Text:
    if attempt["status"] == "ok":
        values = ", ".join(f"{name} = {value}" for name, value in attempt["values"].items())
        return Text(f"→ {values}", style="bold green")
    return Text(f"→ {attempt['status']}: {attempt['error']}", style="bold red")


def _tutor(tutor: dict[str, Any]) -> RenderableType:
    return Text.assemble(("Tutor    ", "bold magenta"), tutor["text"])
