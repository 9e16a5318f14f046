"""Whole conversations in German, from answers that were written by hand."""

import re

import pytest

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.recipes.packages import folder
from soliloquy.recipes.prompts import own_texts, spoken_prompts
from soliloquy.recipes.recipe import ReplyContext, find
from soliloquy.recipes.words import words
from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_INCORRECT, Conversation, Ending
from tests.unit.languages.speakers import WrittenSpeakers, played

PROBLEM = ProblemRow(
    question="Ein Auto fährt 2,5 Stunden lang mit 81 km/h und danach noch 45 km. Wie viele Kilometer legt es zurück?",
    solution="In 2,5 Stunden fährt das Auto 2,5 h · 81 km/h = 202,5 km.\nZusammen sind es 202,5 km + 45 km = 247,5 km.",
)
# A student of Code Soliloquies is wrong at first at each step, until one good word corrects it.
MISTAKEN = "[mistaken]\nshare = 1.0\nmistaken = 1.0\nshaky = 0.0\nevidence = { one = 1.0, two = 0.0, three = 0.0 }\n"
RECIPES = ("soliloquy", "mathdial", "scaffold")
WRONG = re.compile(r"\b(?:83,5|32,4|157,5|9\.112,5)\b")
_WORD = re.compile(r"[a-z]{2,}")
_SENTENCE = re.compile(r"[.:?!]\s|\n|\$\w+|\"[\w -]+\"")


async def _played(recipe: str) -> tuple[Conversation, WrittenSpeakers]:
    speakers = WrittenSpeakers(recipe)
    changed = {"learners.toml": MISTAKEN} if recipe == "soliloquy" else {}
    problem = problem_from_row(PROBLEM, "auto.jsonl:1", "de")
    return await played(recipe, problem, speakers, seed=2, changed=changed), speakers


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_german_conversation_is_solved_and_the_ledger_judges_its_decimal_commas(recipe: str) -> None:
    conversation, _ = await _played(recipe)
    checked = find(recipe).review(conversation)
    assert conversation.ending == Ending.ENDING_SOLVED
    assert checked.faults == []
    assert checked.lacking["given_values"] == "English"
    judged = [(found.right, bool(WRONG.search(found.message))) for found in checked.turns if found.right is not None]
    assert [right for right, _ in judged] == [not is_wrong for _, is_wrong in judged]
    assert {right for right, _ in judged} == {True, False}
    wrong = [turn for turn in conversation.turns if WRONG.search(turn.student.text)]
    assert {turn.tutor.evaluation for turn in wrong} == {EVALUATION_INCORRECT}
    assert not any(turn.rejected for turn in conversation.turns)


@pytest.mark.parametrize("recipe", RECIPES)
async def test_no_prompt_of_a_german_run_or_of_training_on_it_has_an_english_sentence(recipe: str) -> None:
    conversation, speakers = await _played(recipe)
    texts = [path.read_text("utf-8") for path in folder(recipe).glob("*.txt")]
    english = "\n".join([*own_texts(recipe).values(), *words("").values(), *texts])
    sentences = {part.strip() for part in _SENTENCE.split(english) if len(_WORD.findall(part)) > 3}
    found = find(recipe)
    prompts = [
        *(prompt for _, prompt in found.prompts(conversation)),
        *(one.prompt for one in found.lessons(conversation)),
    ]
    if found.replies:
        prompts += [one.prompt for one in found.replies(conversation, ReplyContext())]
    asked = "\n".join(
        [message.text for request in speakers.asked for message in request.messages]
        + [text for prompt in prompts for _, text in prompt.said]
        + [message.text for message in found.dialogue(conversation)]
    )
    assert len(sentences) > 100
    assert [one for one in sentences if one in asked] == []


async def test_a_german_reply_that_contradicts_the_ledger_is_at_fault() -> None:
    conversation, _ = await _played("soliloquy")
    conversation.turns[1].tutor.evaluation = EVALUATION_CORRECT
    assert find("soliloquy").faults(conversation) == [
        "verdict: turn 2: it calls '83.5 km' right, although that is wrong"
    ]


async def test_a_german_reply_repeats_reveals_and_asks_as_its_words_say() -> None:
    conversation, _ = await _played("scaffold")
    conversation.turns[3].tutor.text = conversation.turns[1].tutor.text
    conversation.turns[1].student.text += "\nTutor: Das stimmt nicht."
    conversation.turns[2].tutor.text = "Genau! Was kommt jetzt? Sind es am Ende 247,5 km?"
    assert find("scaffold").faults(conversation) == [
        "questions: turn 3: the reply asks 2 questions; ask exactly one",
        "revealed: turn 3: the reply tells '247.5 km', which the student has still to find",
        "speaks for: turn 2: the student's message holds 'Tutor:'",
        "repeated: turn 4: the tutor repeats 'Schau noch einmal auf das Tempo: In jede'",
    ]


async def test_a_solution_is_explained_and_outlined_in_german_steps() -> None:
    problem = problem_from_row(PROBLEM, "auto.jsonl:1", "de")
    ask = Ask(model=WrittenSpeakers("soliloquy"), role="planner", origin=("german",), problem=problem)
    enriched = await find("soliloquy").planner(problem, spoken_prompts("soliloquy", "de"), ask)
    assert enriched.plain_because == ""
    assert [line[:26] for line in enriched.detailed_solution.splitlines()] == [
        "Schritt 1) Zuerst geht es ",
        "Schritt 2) Danach fährt da",
    ]
