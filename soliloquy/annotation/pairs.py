"""Draws pairs for annotators, blind and in random order, and makes preferences of what they say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from soliloquy.annotation.labels import consensus
from soliloquy.annotation.replies import States
from soliloquy.annotation.rows import Annotation, require_scheme
from soliloquy.annotation.scheme import SIDES, Scheme, Unit
from soliloquy.annotation.tasks import messages_of
from soliloquy.dataset.exports.format import Row
from soliloquy.dataset.exports.formats.preferences import (
    Answer,
    Pair,
    as_messages,
    first_difference,
    pair_rows,
    tutor_answers,
)
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation

Task = dict[str, Any]
# The rule by which the export of preferences names pairs that people compared.
_RULE = "people"


def conversation_pairs(
    one: Iterable[Conversation], other: Iterable[Conversation], *, count: int, seed: int
) -> list[Task]:
    """Returns conversations of two systems about the same problems; raises Failure if no problem is in both."""
    beside = {conversation.problem.id: conversation for conversation in other}
    both = [(mine, beside[mine.problem.id]) for mine in one if mine.problem.id in beside]
    if not both:
        raise Failure("the two datasets have no problem in common")
    draw(seed, "annotation", "pair").shuffle(both)
    return [
        pair_task(
            "pair",
            (mine.id, theirs.id),
            {"question": mine.problem.question},
            [messages_of(mine.turns), messages_of(theirs.turns)],
            [_answers(mine), _answers(theirs)],
            seed,
        )
        for mine, theirs in both[:count]
    ]


def _answers(conversation: Conversation) -> Iterator[Answer]:
    return chain.from_iterable(tutor_answers(conversation, turn.number) for turn in conversation.turns)


def reply_pairs(one: States, other: States, *, count: int, seed: int) -> list[Task]:
    """Returns two replies of each state that both have with different ones; raises Failure if none has."""
    drawing, found = draw(seed, "annotation", "reply_pair"), []
    for key in one.keys() & other.keys():
        both = [
            (mine, theirs)
            for mine in one[key].replies
            for theirs in other[key].replies
            if mine.text and theirs.text and mine.text != theirs.text
        ]
        if both:
            found.append((one[key].shown, *draw(seed, str(key)).choice(both)))
    if not found:
        raise Failure("no state has two different replies: use the folders of soliloquy fork for one dataset")
    found.sort(key=lambda pair: (pair[1].item, pair[2].item))
    drawing.shuffle(found)
    return [
        pair_task(
            "reply_pair",
            (mine.item, theirs.item),
            shown,
            [[{"role": "tutor", "text": reply.text}] for reply in (mine, theirs)],
            [mine.answers(), theirs.answers()],
            seed,
        )
        for shown, mine, theirs in found[:count]
    ]


def pair_task(
    unit: Unit,
    items: tuple[str, str],
    shown: Mapping[str, Any],
    sides: Sequence[Any],
    answers: Sequence[Iterable[Answer]],
    seed: int,
    systems: Sequence[str] = ("first", "second"),
) -> Task:
    """Returns a task; its `order` and `preference` are for whoever reads the results, and no annotator sees them."""
    item = "|".join(dict.fromkeys(items))
    places = [0, 1]
    draw(seed, item, "order").shuffle(places)
    task = {
        "item": item,
        "unit": unit,
        "shown": {**shown, "sides": [sides[place] for place in places]},
        "order": [systems[place] for place in places],
    }
    if both := first_difference(*(answers[place] for place in places)):
        asked = both[0]
        task["preference"] = {
            "conversation": items[0].partition("#")[0],
            "turn": asked.turn,
            "state": asked.state,
            "asked": asked.prompt.name,
            "prompt": as_messages(asked.prompt),
            "answers": [one.text for one in both],
        }
    return task


def preferences(annotations: Sequence[Annotation], tasks: Iterable[Task], scheme: Scheme) -> Iterator[tuple[str, Row]]:
    """Yields rows of TRL's files for the pairs in which most prefer one side and both answer the same prompt.

    Raises Failure for a scheme that does not ask for a side.
    """
    require_scheme(annotations, scheme)
    question, labels = scheme.side_question(), consensus(annotations, scheme)
    for task in tasks:
        chosen = [one for one in labels.get(task["item"], ()) if one.question == question and one.value in SIDES]
        if not (chosen and (found := task.get("preference"))):
            continue
        place = SIDES.index(chosen[0].value)
        prompt = Prompt(name=found["asked"], said=[(one["role"], one["content"]) for one in found["prompt"]])
        told = f"{chosen[0].agreeing} of {chosen[0].annotators} annotators prefer the other"
        answers = found["answers"][place], found["answers"][1 - place]
        pair = Pair(found["turn"], found["state"], prompt, *answers, _RULE, told, certain=False)
        yield from pair_rows(pair, found["conversation"], set())
