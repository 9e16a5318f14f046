"""`soliloquy evaluate debugging`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from soliloquy.cli.evaluate.options import evaluating
from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.options import count_option
from soliloquy.v1.conversation_pb2 import Conversation, Ending, ModelCall, Problem
from soliloquy.v1.runs_pb2 import Run

TITLES = {"found": "bugs found", "kept_quiet": "never tells the fix"}


@dataclass(frozen=True, kw_only=True)
class Talk:
    conversation: Conversation
    passed: dict[str, bool]

    @property
    def calls(self) -> Sequence[ModelCall]:
        return [call for turn in self.conversation.turns for call in turn.calls if call.role == "composer"]

    def as_json(self) -> dict[str, Any]:
        return {"case": self.conversation.id, "passed": self.passed}


@click.command()
@count_option("--cases", 4, "Programs to talk about.")
@evaluating("")
def debugging(settings: EvaluationSettings, cases: int) -> Evaluated:
    """Evaluate a tutor by the bugs that its students find, and by what its replies tell."""
    import uvloop

    from training.evaluation.cases import digest_of, parse_figures
    from training.evaluation.report import figure_rows, table
    from training.evaluation.shares import share_of

    source, problems = settings.held_out()
    wanted = list(islice(problems, cases))
    talks = uvloop.run(_talks(settings, wanted))
    metrics = {name: share_of(talk.passed[name] for talk in talks) for name in TITLES}
    report = settings.report(
        "debugging",
        talks,
        cases=settings.cases(source, f"{cases} programs of", wanted, digest_of([one.id for one in wanted])),
        titles=TITLES,
        figures={"metrics": metrics, "measures": {}, **parse_figures(talks)},
        paper={},
        whose="nobody's",
    )
    page = [f"# Socratic debugging of {report['name']}", "", *table(["", "share", ""], figure_rows(report, TITLES))]
    return Evaluated(report=report, results=talks, page=page, tables=[figures_table(report, TITLES)])


async def _talks(settings: EvaluationSettings, problems: Sequence[Problem]) -> list[Talk]:
    from socratic_debugging.rules import check

    async with settings.running("debugging") as (model, loop):

        async def talk(problem: Problem) -> Talk:
            run = Run(recipe="debugging", seed=settings.seed, max_turns=6)
            started = Conversation(id=problem.id, run=run, problem=problem)
            held = await loop.hold(started, enough=lambda _: False)
            told = any(fault.startswith("told") for fault in check(held).faults)
            return Talk(
                conversation=held, passed={"found": held.ending == Ending.ENDING_SOLVED, "kept_quiet": not told}
            )

        with settings.progress(model, len(problems), "found") as bar:
            return await bar.run(problems, talk, lambda one: one.passed["found"])
