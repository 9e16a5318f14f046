"""`soliloquy annotations`: schemes, tasks, agreement, and files of other programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from rich.table import Table

from soliloquy.annotation.formats import FORMATS, label_studio_config, read_foreign
from soliloquy.annotation.rows import read_annotations, written
from soliloquy.annotation.scheme import PAIRS, Scheme, Unit, scheme_of
from soliloquy.annotation.scheme import schemes as shipped
from soliloquy.annotation.tasks import By, read_tasks, tasks
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, COUNT, EXISTING_FILE, NEW_FILE, SEED, Choice, writing_to
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer, echo
from soliloquy.dataset.tables import estimate
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.files import read_json

if TYPE_CHECKING:
    from soliloquy.annotation.pairs import Task
    from soliloquy.annotation.replies import States

SCHEME = setting(f"What is asked: {', '.join(shipped())}, or a TOML file.", metavar="NAME|FILE")


@click.command(cls=Command)
def schemes(*, as_json: bool = AS_JSON) -> None:
    """List the schemes that are shipped, and what each asks."""
    found = [scheme.model_dump(mode="json") for scheme in shipped().values()]
    rows = [
        (scheme.name, scheme.unit, scheme.title, ", ".join(one.title for one in scheme.questions))
        for scheme in shipped().values()
    ]
    answer(found, [table("scheme", "of a", "title", "asks", rows=rows, align="left")], as_json=as_json)


@click.command(cls=Command)
@click.argument("dataset", metavar="DIR|URL")
def sample(
    *,
    scheme: str = SCHEME,
    out: Path = setting("The file of tasks to write.", type=NEW_FILE, metavar="FILE"),
    items: int = setting("Tasks at most.", default=60, type=COUNT),
    by: By = setting(
        "At random, the least certain verdicts first, or the same number of each persona and ending.",
        default="random",
        type=Choice(list(get_args(By))),
    ),
    beside: str | None = setting("The dataset or tree of a second system, for a scheme of pairs.", metavar="DIR|URL"),
    seed: int = SEED,
    as_json: bool = AS_JSON,
    dataset: str,
) -> None:
    """Draw annotation tasks from a dataset: conversations, turns, problems, or pairs.

    Each line of FILE is what annotators see of one item, without the model, the verdict or the other annotators. DIR
    may also be an evaluation, whose cases are the items, and for a scheme of single replies a folder of
    `soliloquy fork`.
    """
    check_installed("run", "pyarrow")
    asked = scheme_of(scheme)
    if beside and asked.unit not in PAIRS:
        raise click.UsageError(f"--beside requires a scheme of pairs: {scheme} is of a {asked.unit}")
    if asked.unit == "pair" and not beside:
        raise click.UsageError(f"{scheme} requires --beside: it compares two systems")
    if (Path(dataset) / "cases.jsonl").is_file():
        drawn = _of_evaluations(dataset, beside, asked, count=items, seed=seed)
    elif asked.unit in PAIRS:
        drawn = _pairs(dataset, beside, asked.unit, count=items, seed=seed)
    else:
        from soliloquy.dataset.reading import Dataset

        found = Dataset(dataset)
        drawn = tasks(found, asked.unit, turns=asked.turns, count=items, by=by, seed=seed)
    with writing_to(out):
        out.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in drawn), "utf-8")
    answer({"tasks": len(drawn)}, [f"{len(drawn):,} tasks in {out}"], as_json=as_json)


def _of_evaluations(place: str, beside: str | None, scheme: Scheme, *, count: int, seed: int) -> "list[Task]":
    from soliloquy_training.evaluation.people import case_pairs, case_tasks

    if scheme.unit not in PAIRS:
        return case_tasks(Path(place), scheme, count=count, seed=seed)
    if not beside:
        raise click.UsageError(f"{scheme.name} requires --beside: it compares two evaluations")
    return case_pairs(Path(place), Path(beside), scheme, count=count, seed=seed)


def _pairs(place: str, beside: str | None, unit: Unit, *, count: int, seed: int) -> "list[Task]":
    from soliloquy.annotation.pairs import conversation_pairs, reply_pairs
    from soliloquy.annotation.replies import states_of, states_of_tree
    from soliloquy.dataset.reading import Dataset
    from soliloquy.gym.fork_files import TREE

    def states(location: str) -> "States":
        tree = Path(location) / TREE
        return states_of_tree(tree) if tree.is_file() else states_of(Dataset(location))

    if unit == "pair" and beside:
        return conversation_pairs(Dataset(place), Dataset(beside), count=count, seed=seed)
    one = states(place)
    return reply_pairs(one, states(beside) if beside else one, count=count, seed=seed)


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
def agreement(*, scheme: str = SCHEME, as_json: bool = AS_JSON, file: Path) -> None:
    """Say how far annotators agree: Krippendorff's alpha and kappas with intervals, by question and annotator."""
    check_installed("run", "numpy")
    from soliloquy.annotation.report import agreement as found_agreement

    asked = scheme_of(scheme)
    found = found_agreement(read_annotations(file), asked)
    answer(found, _tables(found, asked), as_json=as_json)


_FORMAT = setting("The other program.", "--format", "name", type=Choice([*FORMATS]))


@click.command(cls=Command)
@click.argument("tasks_file", metavar="TASKS", type=EXISTING_FILE)
def export(
    *,
    scheme: str = SCHEME,
    name: str = _FORMAT,
    annotations: Path | None = setting("Annotations to write with the tasks.", type=EXISTING_FILE, metavar="FILE"),
    out: Path = setting("The file to write.", type=NEW_FILE, metavar="FILE"),
    tasks_file: Path,
) -> None:
    """Write tasks for Label Studio or Argilla; for Label Studio also its interface, in FILE.xml."""
    asked = scheme_of(scheme)
    shown = {task["item"]: task["shown"] for task in read_tasks(tasks_file)}
    given = read_annotations(annotations) if annotations else []
    with writing_to(out):
        rows = FORMATS[name].write(shown, given, asked)
        out.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")
        if name == "label-studio":
            out.with_suffix(".xml").write_text(label_studio_config(asked), "utf-8")
    echo(f"{len(rows):,} tasks in {out}")


@click.command("import", cls=Command)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
def import_(
    *,
    scheme: str = SCHEME,
    name: str = _FORMAT,
    out: Path = setting("The file of annotations to write.", type=NEW_FILE, metavar="FILE"),
    file: Path,
) -> None:
    """Read annotations that Label Studio or Argilla has exported as JSON."""
    found = read_foreign(read_json(file), scheme_of(scheme), name)
    with writing_to(out):
        out.write_text("".join(written(found)), "utf-8")
    echo(f"{len(found):,} annotations in {out}")


def _tables(found: Mapping[str, Any], scheme: Scheme) -> Iterator[str | Table]:
    people = found["annotators"]
    yield f"{found['items']:,} items, {found['annotations']:,} annotations of {len(people)} annotators"
    coefficients = ("krippendorff_alpha", "fleiss_kappa", "observed")
    rows = [
        (name, of["level"], *(estimate(of[one]) for one in coefficients)) for name, of in found["questions"].items()
    ]
    heads = ("question", "level", "Krippendorff's alpha", "Fleiss' kappa", "same")
    yield table(*heads, rows=rows, align="left")
    yield table(
        *("annotator", "annotations", *found["questions"]),
        rows=[_against_others(name, count, found["questions"]) for name, count in people.items()],
        align="left",
    )


def _against_others(name: str, count: int, questions: Mapping[str, Any]) -> Sequence[str]:
    return name, f"{count:,}", *(estimate(of["annotators"][name]) for of in questions.values())
