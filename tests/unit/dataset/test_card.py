"""The card says what is in the dataset, and always the same of the same one."""

import json
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from huggingface_hub import DatasetCard

from soliloquy.cli.generate import generate
from soliloquy.dataset.card import DatasetSummary, again, card
from soliloquy.dataset.statistics import Statistics
from soliloquy.v1.conversation_pb2 import Commission, Conversation
from soliloquy_papers.mathwell.labels_pb2 import Authorship, ProblemLabels
from tests.cases import each_case
from tests.datasets import RUN, accepted_rows, rejected_rows, statistics_of
from tests.markdown import HOSTILE, SHOWN, structure, words
from tests.unit.dataset.labelled import labelled
from tests.unit.dataset.test_statistics import conversation

OF_SOME_RECIPES = ["## Beside", "## Answers sent back", "## Labels"]


def counted(*, rows_at_once: int = 2, engine: str = "scripted", **run: Any) -> DatasetSummary:
    made = conversation()
    made.turns[1].calls[0].engine = engine
    accepted, rejected = Statistics(), Statistics()
    batch = accepted_rows([made, conversation()])
    for start in range(0, 2, rows_at_once):
        accepted.add(batch.slice(start, rows_at_once))
    rejected.add(rejected_rows([(conversation(), ["verdict: turn 2: says 'a' | 'b'"])]))
    return DatasetSummary(manifest={"run": RUN | run}, accepted=accepted, rejected=rejected)


def test_the_same_dataset_has_the_same_card() -> None:
    assert card(counted(rows_at_once=1)) == card(counted(rows_at_once=2))


def test_a_card_shows_what_is_in_the_data_as_text() -> None:
    harmless, hostile = card(_naming("some words")), card(_naming(HOSTILE))
    assert structure(hostile) == structure(harmless)
    assert SHOWN in words(hostile)


def _naming(text: str) -> DatasetSummary:
    """A dataset in which everything that others name has this name."""
    made = conversation()
    made.problem.topic = made.persona = made.tutor_persona = text
    made.problem.source = text.replace("/", "").replace(":", "")
    for call in made.turns[1].calls:
        call.model = call.engine = call.role = text
    accepted, rejected = Statistics(), Statistics()
    accepted.add(accepted_rows([made]))
    rejected.add(rejected_rows([(made, [f"{text}: {text}"])]))
    run = RUN | {"model": text, "noise": text, "prompts_sha256": {text: text}}
    return DatasetSummary(manifest={"run": run}, accepted=accepted, rejected=rejected)


def test_a_card_tells_the_figures() -> None:
    text = card(counted())
    for row in (
        "| conversations | 2 |",
        "| generated but not kept | 1 |",
        "| turns with Python | 33.3 % (2 of 6) |",
        "| evaluations that agree with the program's verdict | 100 % (2 of 2) |",
        "| 1 points out the mistake, hints | 2 |  |",
        "| verdict | 1 | 100 % |",
        f"| deciding.txt | {'d' * 64} |",
        f"| conversation.proto | {'c' * 64} |",
    ):
        assert row in text.splitlines()


def test_a_card_tells_how_many_verdicts_nothing_verified() -> None:
    made = counted()
    made.accepted.verification.update(program=5, step=2, none=1)
    assert "| verdicts that nothing verified | 12.5 % (1 of 8) |" in card(made)


def test_a_card_tells_how_many_came_to_the_answer_and_lists_no_more_than_a_person_reads() -> None:
    made = counted()
    made.accepted.resolutions.update(solved=7, revealed=1, unsolved=2)
    made.accepted.personas = Counter({f"student {number:03}": 1 for number in range(60)})
    text = card(made)
    assert "| solved by the student alone | 70 % (7 of 10) |" in text
    assert "| solved after the tutor revealed the answer | 10 % (1 of 10) |" in text
    assert "| student 048 | 1 | 1.7 % |" in text
    assert "| 11 others | 11 | 18.3 % |" in text
    assert "student 049" not in text


def test_a_card_lists_the_services_and_those_that_nobody_described() -> None:
    made, settings = counted(), {"model": "small | fast", "noise": "none"}
    described = {"service": "tutor", "version": "1.0", "image": "workers:1.0", "settings": settings}
    rows = [
        described | {"digest": "d1", "conversations": 1200},
        {"service": "unknown", "digest": "d2", "conversations": 3},
    ]
    text = card(replace(made, manifest={**made.manifest, "arrival": {"services": rows}}))
    assert "| tutor | 1.0 | workers:1.0 | small \\| fast | none | 1,200 | d1 |" in text.splitlines()
    assert "| unknown |  |  |  |  | 3 | d2 |" in text.splitlines()
    assert "## Services" not in card(made)


def test_a_card_tells_who_the_tutors_were() -> None:
    made = counted()
    made.accepted.tutors = Counter(warm=3, brisk=1)
    assert "| warm | 3 | 75 % |\n| brisk | 1 | 25 % |" in card(made)


def test_a_card_says_how_many_people_tutored_and_how_long_they_took() -> None:
    taught = [conversation() for _ in range(3)]
    for made, teacher, seconds in zip(taught, ("T1", "T2", "T1"), ([60, 60], [180], [600]), strict=True):
        made.tutor_persona, made.extra = "a person", json.dumps({"teacher": teacher, "seconds": seconds})
    accepted = Statistics()
    accepted.add(accepted_rows([*taught, conversation()]))
    text = card(DatasetSummary(manifest={"run": RUN}, accepted=accepted, rejected=Statistics()))
    assert "| with a person as the tutor | 75 % (3 of 4) |" in text
    assert "| teachers, each under a pseudonym | 2 |" in text
    assert "| minutes a teacher spent on a dialogue, median | 3.0 |" in text
    assert "- People tutored, and the student is a model" in text


@each_case
def test_a_card_tells_what_its_recipe_has(recipe: str, rows: list[str]) -> None:
    kept = statistics_of([labelled(conversation(), recipe)])
    kept.mending.sent_back["student", "state"] = 2
    kept.labels["student.belief"].update(held=2)
    kept.labels["tutor.move"].update(telling=3)
    kept.labels["tutor.learner_state"].update(correct=3)
    text = card(DatasetSummary(manifest={"run": RUN | {"recipe": recipe}}, accepted=kept, rejected=Statistics()))
    assert [title for title in OF_SOME_RECIPES if title in text] == OF_SOME_RECIPES
    for row in rows:
        assert row in text.splitlines()


def test_a_card_tells_nothing_that_its_recipe_has_not() -> None:
    made = labelled(conversation(), "mathwell")
    made.problem.ClearField("labels")
    kept = statistics_of([made])
    text = card(DatasetSummary(manifest={"run": RUN}, accepted=kept, rejected=Statistics()))
    assert not [title for title in OF_SOME_RECIPES if title in text]


def test_a_card_of_written_problems_speaks_of_no_student() -> None:
    made = Conversation(id="p1")
    made.run.recipe = "mathwell"
    made.problem.question = "How many?"
    made.problem.labels = ProblemLabels(authorship=Authorship(commission=Commission(topic="ducks"))).SerializeToString()
    made.turns.add(number=1).calculation.attempts.add(code="def solution(): ...")
    kept = statistics_of([made])
    text = card(DatasetSummary(manifest={"run": RUN | {"recipe": "mathwell"}}, accepted=kept, rejected=Statistics()))
    assert "| problems | 1 |" in text.splitlines()
    assert not [word for word in ("student", "tutor ") if word in text.partition("## Files")[0]]


def test_a_card_says_that_its_model_is_scripted_where_it_is() -> None:
    assert "The model is scripted" in card(counted())
    of_a_model = counted(engine="openai")
    of_a_model.accepted.models.clear()
    assert "The model is scripted" not in card(of_a_model)


def test_the_hub_understands_a_card() -> None:
    data = vars(DatasetCard(card(counted())).data)
    assert data["configs"][0] == {"config_name": "accepted", "default": True, "data_files": "accepted/*.parquet"}
    assert data["size_categories"] == ["n<1K"]


def test_the_command_on_a_card_has_the_options_that_made_the_dataset() -> None:
    endpoint = {"model": "openai", "base_url": "https://api.example.com/v1", "model_name": "small"}
    options = {"problems": "physics", "conversations": 2, "seed": 5, "max_turns": 12, "enrich": True, **endpoint}
    made = counted()
    command, _ = again(replace(made, manifest={**made.manifest, "options": options}))
    name, subcommand, *words = shlex.split(command)
    assert (name, subcommand) == ("soliloquy", "generate")
    context = generate.make_context("generate", words)
    assert {name: context.params[name] for name in options} == options


@pytest.mark.parametrize("own", [{"models": {"endpoint": "local"}}, {"base_url": "https://api.example.com?key=secret"}])
def test_a_table_of_models_and_a_key_stay_in_the_manifest(own: dict[str, Any]) -> None:
    made = counted()
    command, _ = again(replace(made, manifest={**made.manifest, "options": {"problems": "physics", **own}}))
    assert command == "soliloquy generate manifest.json --out again"
    assert again(made)[0] == ""


def test_a_dataset_without_a_conversation_has_a_card() -> None:
    empty = DatasetSummary(manifest={"run": RUN}, accepted=Statistics(), rejected=Statistics())
    empty.accepted.add(accepted_rows(list[Conversation]()))
    assert "| conversations | 0 |" in card(empty)
