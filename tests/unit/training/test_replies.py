"""Tutor response generation: each of the four variants gets its context, and only the reply is learned."""

from itertools import product

import pytest

from soliloquy.recipes.mathdial.composer import tutor_move
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.moves import move_name
from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Turn
from soliloquy_training.data import Sample, samples
from tests.unit.training.growing import conversations, dialogues

VARIANTS = [ReplyContext(move=move, grounding=grounding) for move, grounding in product((True, False), repeat=2)]


def asked(sample: Sample) -> str:
    return "\n".join(message.text for message in sample if not message.learned)


@pytest.mark.parametrize("given", VARIANTS, ids=str)
def test_each_message_of_the_tutor_is_learned_word_for_word_and_nothing_else(given: ReplyContext) -> None:
    for one in dialogues():
        learned = [[message for message in sample if message.learned] for sample in samples(one, "replies", given)]
        assert [[message.text for message in each] for each in learned] == [[turn.tutor.text] for turn in one.turns]
        assert {message.role for each in learned for message in each} == {"assistant"}


@pytest.mark.parametrize("given", VARIANTS, ids=str)
def test_the_move_and_the_solutions_are_told_where_they_are_given_and_only_there(given: ReplyContext) -> None:
    for one in dialogues():
        for sample, turn in zip(samples(one, "replies", given), one.turns, strict=True):
            told = asked(sample)
            assert (f'<move kind="{move_name(turn.tutor)}">' in told, "<move" in told) == (given.move, given.move)
            handed_in = confusion_of(one.problem.enrichment).solution.splitlines()
            for secret in (one.problem.question, one.problem.solution, *handed_in):
                assert (secret in told) is given.grounding


@pytest.mark.parametrize("given", VARIANTS, ids=str)
def test_a_reply_knows_all_that_was_said_before_it_and_nothing_behind(given: ReplyContext) -> None:
    for one in dialogues():
        for number, sample in enumerate(samples(one, "replies", given)):
            conversation = asked(sample).rpartition("<conversation>")[2].partition("</conversation>")[0]
            said = [text for turn in one.turns[:number] for text in (turn.student.text, turn.tutor.text) if text]
            said += [one.turns[number].student.text] if one.turns[number].HasField("student") else []
            assert [line.partition(": ")[2] for line in conversation.strip().splitlines()] == [
                " ".join(text.split()) for text in said
            ]


def test_an_imported_dialogue_teaches_its_replies_and_no_states() -> None:
    imported = Conversation(turns=[Turn(number=1), Turn(number=2)])
    imported.run.recipe = "mathdial"
    first, second = imported.turns
    first.tutor.CopyFrom(tutor_move("generic", "greeting_farewell"))
    first.tutor.text = "Hi Ana!"
    second.student.text, second.tutor.text = "Hi.", "(praise)Good!"
    plain = samples(imported, "replies", ReplyContext(move=False))
    assert [sample[-1].text for sample in plain] == ["Hi Ana!", "(praise)Good!"]
    assert [sample[-1].text for sample in samples(imported, "replies")] == ["Hi Ana!"]
    with pytest.raises(Refused, match="use layout: replies"):
        samples(imported, "states")


def test_a_recipe_without_such_replies_says_so() -> None:
    with pytest.raises(Refused, match="the recipe soliloquy has no layout: replies"):
        samples(conversations(1)[0], "replies")
