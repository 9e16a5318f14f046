import random
from itertools import islice

from soliloquy.recipes.check_report import LIKENESS, Likeness

TALK = ["I am stuck on a ball that falls 20 m, how do I start?", "Which law connects height and time of the fall?"]
WORDS = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in "nrst"]


def measured(*conversations: list[str]) -> Likeness:
    likeness = Likeness()
    for number, texts in enumerate(conversations):
        likeness.add(str(number), texts)
    return likeness


def test_the_same_words_about_other_numbers_are_alike() -> None:
    found = measured(TALK, [text.replace("20", "37.5") for text in TALK])
    assert [(pair.one, pair.other, pair.likeness) for pair in found.alike] == [("0", "1", 1.0)]


def test_other_words_about_the_same_problem_are_not_alike() -> None:
    found = measured(
        TALK, ["Which law connects height and time of the fall?", "Can we do this? A ball drops from 20 m."]
    )
    assert found.alike == []
    assert found.closest is not None
    assert 0 < found.closest.likeness < LIKENESS["alike"]


def test_likeness_does_not_depend_on_who_came_first() -> None:
    one, other = [*TALK, "Exactly right."], [*TALK, "Well done, that is it."]
    forth, back = measured(one, other).closest, measured(other, one).closest
    assert forth is not None
    assert back is not None
    assert forth.likeness == back.likeness > 0


def test_alike_conversations_are_found_among_many() -> None:
    drawn = random.Random(5)
    many = [[" ".join(drawn.choices(WORDS, k=80))] for _ in range(500)]
    # Each with a fifth of its words changed, long after the one it repeats.
    copies = [[" ".join([*text.split()[:66], *drawn.choices(WORDS, k=14)])] for [text] in islice(many, 20)]
    found = measured(*many, *copies)
    assert {pair.one for pair in found.alike} == {str(number) for number in range(20)}


def test_nothing_is_alike_where_there_is_only_one() -> None:
    assert measured(TALK).closest is None
