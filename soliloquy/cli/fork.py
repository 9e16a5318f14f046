"""`soliloquy fork`: several continuations from states of stored conversations, judged against each other."""

import asyncio
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.model_options import MODEL
from soliloquy.cli.options import AS_JSON, COUNT, IN_FLIGHT, NEW_FOLDER, QUIET, TURNS, Choice, real, whole, writing_to
from soliloquy.cli.progress import count
from soliloquy.cli.terminal import answer, echo
from soliloquy.dataset.exports.files import atomic_output
from soliloquy.dataset.reading import Dataset
from soliloquy.gym import forking
from soliloquy.gym.fork_files import write_files
from soliloquy.gym.states import STATES
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation

SAMPLES = 64
_LOST = 1


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
def fork(
    *,
    out: Path = setting("The folder for the tree.", type=NEW_FOLDER),
    conversation: str | None = setting("Only the conversation whose id begins so.", metavar="ID"),
    conversations: int | None = setting("Only the first N accepted conversations.", type=COUNT, metavar="N"),
    turn: int | None = setting("Only this turn.  [default: each turn]", type=whole(1, TURNS)),
    state: str = setting("The state to draw from.", default="deciding", type=Choice(list(STATES))),
    samples: int = setting("Continuations of each state.", default=4, type=whole(2, SAMPLES)),
    to_end: bool = setting("Play each to the end of its conversation, instead of to the tutor's reply."),
    margin: float = setting("The least difference between the rewards of a pair.", default="0.05", type=real(0.001, 2)),
    in_flight: int = setting("Continuations at once.", default=32, type=whole(1, IN_FLIGHT)),
    model: ModelSettings = MODEL,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    folder: str,
) -> int:
    """Draw several continuations from states of stored conversations, and judge them by their rewards.

    The student draws what it drew; the tutor samples anew. OUT/tree.jsonl has each continuation with its reward,
    OUT/preferences pairs of answers to one prompt, as `soliloquy export --format preferences` writes them, and with
    --to-end OUT/best is a dataset of the best continuation of each conversation. The same command continues one that
    was stopped.
    """
    check_installed("run", "pyarrow")
    if conversation and conversations:
        raise click.UsageError("--conversation cannot be used with --conversations: it is one")
    dataset = Dataset(folder)
    choice = forking.Choice(turn=turn, state=state, samples=samples, to_end=to_end)
    work = out.with_name(f".{out.name}.forking")
    with writing_to(out, resumes=True), atomic_output(out) as place:
        forks = [*forking.forks_of(_chosen(dataset, conversation, conversations), choice)]
        if not forks:
            raise Failure(f"none of these conversations of {folder} came to {state}: choose another --turn or --state")
        work.mkdir(exist_ok=True)
        tree = forking.Tree(work / _name(dataset, choice, model))
        try:
            lost = asyncio.run(_drawn(forks, tree, choice, model, in_flight, quiet=quiet or as_json))
            if lost:
                echo(f"soliloquy: {lost} continuations were lost: the same command draws them again", err=True)
                return _LOST
            place.mkdir()
            counts = write_files(place, forks, tree, choice, dataset.manifest["run"], margin)
        finally:
            tree.close()
    shutil.rmtree(work)
    told = f"{counts['samples']:,} continuations of {counts['forks']:,} states in {out}: {counts['pairs']:,} pairs"
    best = f", {counts['best']:,} best conversations" if to_end else ""
    answer(counts, [told + best], as_json=as_json, quiet=quiet)
    return 0


def _chosen(dataset: Dataset, wanted: str | None, most: int | None) -> Iterator[Conversation]:
    return iter([dataset.find(wanted)]) if wanted else islice(dataset, most)


def _name(dataset: Dataset, choice: forking.Choice, model: ModelSettings) -> str:
    """Returns the name of the unfinished tree, which another dataset, choice or model never continues."""
    parts = (dataset.folder, dataset.manifest, asdict(choice), model.models.identity(), model.noise)
    return digest(json.dumps(parts, sort_keys=True))


async def _drawn(
    forks: Sequence[forking.Fork],
    tree: forking.Tree,
    choice: forking.Choice,
    model: ModelSettings,
    in_flight: int,
    *,
    quiet: bool,
) -> int:
    await require_endpoints(model.models, model.record)
    async with open_models(model.models, lambda: scripted_model(model), model.record) as models, own_sandboxes() as own:
        with count("continuations", len(forks) * choice.samples, quiet=quiet, done=len(tree)) as show:

            def tell(done: int, fault: str) -> None:
                show(done, (), fault)

            return await forking.draw_samples(forks, tree, choice, models, own, in_flight=in_flight, tell=tell)
