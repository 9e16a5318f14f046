"""`python -m benchmarks evidence`."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import click

from benchmarks.brought import received
from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.learner.evidence import POINTS, SAYS, strength
from soliloquy.recipes.learner.knowledge import Stance, after
from soliloquy.recipes.mathdial.belief import belief_told, believed, reasons_given
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels
from soliloquy.recipes.scaffold import learner as scaffold_learner
from soliloquy.recipes.scaffold.memory import current_question
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.soliloquy.progress import progress_by_turn
from soliloquy.v1.conversation_pb2 import EVALUATION_INCORRECT, Conversation, Step, TutorReply

LABELS = Path(__file__).parent / "labels" / "evidence.jsonl"
_WHYS = ("Why?", "Why is that?", "And why do you think so?")
_OUTCOMES = ("labelled", "as labelled", "false alarms", "misses", "too strong", "too weak", "no belief found")
_WORTH = {"nothing": 0, "points": POINTS, "says": SAYS}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--whys", is_flag=True, help="FOLDER is a dataset: ask its mistaken students why three times instead.")
@LISTED
@AS_JSON
def evidence(*, folder: Path, whys: bool, listed: bool, as_json: bool) -> None:
    """Compare how strongly tutors' words speak against a misconception with labelled messages of people.

    FOLDER holds MathDial's dialogues. The misconception is what the recipe finds in the solution that was handed in.
    """
    if whys:
        report({Dataset(folder).recipe: ask_why(folder)}, ("mistaken", "convinced"), listed=listed, as_json=as_json)
        return
    kinds: dict[str, Readings] = defaultdict(Readings)
    for row in cases(LABELS):
        place, wanted = f"{row['file']} row {row['row']} turn {row['turn']}", _WORTH[row["label"]]
        found = _strength(folder / row["file"], row["row"], row["turn"])
        outcome = _outcome(found, wanted)
        told = f"{place}: {row['label']}, judged {found}" if outcome != "as labelled" else ""
        kinds[f"sample {row['sample']}: {row['label']}"].add(["labelled", outcome], told)
    report({**kinds, "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def ask_why(folder: Path) -> Readings:
    """Counts the students of a dataset who believe in a mistake, and those whom three bare questions would convince."""
    dataset, counts = Dataset(folder), Readings()
    convinces = _CONVINCES[dataset.recipe]
    for conversation in dataset:
        convinced = next(convinces(conversation), None)
        if convinced is not None:
            told = f"{conversation.id}: {conversation.problem.question}" if convinced else ""
            counts.add(["mistaken", *(["convinced"] if convinced else [])], told)
    return counts


def _in_mathdial(conversation: Conversation) -> Iterator[bool]:
    del conversation.turns[2:]
    for why in _WHYS:
        conversation.turns.add(tutor=TutorReply(text=why))
    del conversation.turns[1]
    wanted = ConversationLabels.FromString(conversation.labels).reasons_wanted
    yield belief_told([], reasons_given(conversation), wanted) == Belief.BELIEF_GIVEN_UP


def _in_scaffold(conversation: Conversation) -> Iterator[bool]:
    for turn in conversation.turns:
        stance = scaffold_learner.stance_of(turn.student)
        if stance.misconception is not None:
            step = scaffold_learner.asked_step(conversation.problem, current_question(conversation, turn))
            yield _is_convinced(stance, step)


def _in_soliloquy(conversation: Conversation) -> Iterator[bool]:
    steps = [progress.step for progress in progress_by_turn(conversation)]
    for turn, number in zip(conversation.turns, steps, strict=False):
        labels = StudentLabels.FromString(turn.student.labels)
        if labels.HasField("misconception"):
            stance = Stance(knowledge=labels.knowledge, misconception=labels.misconception)
            yield _is_convinced(stance, conversation.problem.steps[number - 1])


def _is_convinced(stance: Stance, step: Step) -> bool:
    for why in _WHYS:
        stance = after(stance, TutorReply(text=why, evaluation=EVALUATION_INCORRECT), step)
    return not stance.mistaken


_CONVINCES: Mapping[str, Callable[[Conversation], Iterator[bool]]] = {
    "mathdial": _in_mathdial,
    "scaffold": _in_scaffold,
    "soliloquy": _in_soliloquy,
}


def _outcome(found: int | None, wanted: int) -> str:
    if found is None:
        return "no belief found"
    if found == wanted:
        return "as labelled"
    if not wanted or not found:
        return "misses" if wanted else "false alarms"
    return "too strong" if found > wanted else "too weak"


def _strength(path: Path, number: int, turn: int) -> int | None:
    conversation = _conversations(path)[number]
    found = believed(conversation.problem)
    return strength(conversation.turns[turn - 1].tutor.text, found.held, found.step) if found else None


@cache
def _conversations(path: Path) -> list[Conversation]:
    """Reads the dialogues with the steps of their right solutions."""
    if not path.exists():
        raise click.UsageError(f"{path} does not exist: use the folder with the dialogues that were labelled")
    made = []
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            conversation = conversation_of(dialogue_of(row, "mathdial"), "", number)
            problem, _ = received({"question": row["question"], "answer": row["ground_truth"]}, "gsm8k")
            if problem is not None:
                conversation.problem.steps.MergeFrom(problem.steps)
            made.append(conversation)
    return made
