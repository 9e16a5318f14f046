"""A model reads each finished session as a whole; what it would drop is marked, and stays."""

import json

import pytest

from soliloquy.cli.show import show_conversation
from soliloquy.cli.terminal import open_console
from soliloquy.dataset.rows import rows
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.tally import Tally
from soliloquy.dataset.view import conversation_view
from soliloquy.recipes.check_report import TruthReport
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels
from soliloquy.recipes.scaffold.rules import check
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.unit.scripted.scaffolding import ENGINE, scaffolded

JUDGING = "scaffold/judging"
DROPS = json.dumps({"Reason": "In turn 2 the tutor tells the end.", "Decision": "DROP"})


class Judging:
    """The scripted model, except for what it says of sessions."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.prompt != JUDGING:
            return await ENGINE.generate(request)
        self.asked.append(request)
        return Completion(text=self._answer, model="judging")


async def judged(model: Judging) -> Conversation:
    [made] = [one async for one in scaffolded(1, seed=3, engine=model)]
    return made


async def test_a_session_that_the_judge_would_drop_is_marked_with_its_reason_and_not_condemned() -> None:
    made = await judged(Judging(DROPS))
    found = check(made)
    assert [mark for mark in found.marks if mark.startswith("session")] == [
        f"session: turn {len(made.turns)}: In turn 2 the tutor tells the end."
    ]
    assert not found.faults
    [told] = [part["text"] for part in conversation_view(made)["parts"] if "judge" in part["title"]]
    assert told == "no: In turn 2 the tutor tells the end."
    console = open_console(soft_wrap=False)
    with console.capture() as captured:
        show_conversation(made, console)
    assert f"marked: session: turn {len(made.turns)}: In turn 2" in captured.get()


async def test_verdicts_of_judges_are_counted_in_the_manifest_the_report_and_check() -> None:
    keeps = json.dumps({"Reason": "It is fine.", "Decision": "keep"})
    made = [await judged(Judging(answer)) for answer in (DROPS, keeps, keeps, "I like it.")]
    planned = EnrichmentLabels.FromString(made[1].problem.enrichment.labels)
    planned.plan.refused_because = "Sub-question 2 is vague."
    made[1].problem.enrichment.labels = planned.SerializeToString()
    batch = rows([one.SerializeToString() for one in made], "scaffold")
    tally, statistics, report = Tally(), Statistics(), TruthReport()
    tally.add(batch, accepted=True)
    statistics.add(batch)
    for one in made:
        report.add(one.id, check(one))
    assert tally.as_json()["opinions"] == {"conversation.session: no": 1, "conversation.session: yes": 2}
    assert statistics.labels["conversation.session.ruling"] == {"no": 1, "yes": 2}
    assert (report.marked["session"], report.marked["verifier"]) == (1, 1)


async def test_the_judge_reads_every_message_and_the_plan_once_the_session_is_over() -> None:
    model = Judging(DROPS)
    made = await judged(model)
    [request] = model.asked
    asked = request.messages[-1].text
    assert all(turn.student.text in asked and turn.tutor.text in asked for turn in made.turns)
    assert find("scaffold").prompts(made)[-1][1].messages == list(request.messages)


@pytest.mark.parametrize("answer", ["I like it.", json.dumps({"Reason": "It is fine.", "Decision": "keep"})])
async def test_what_is_kept_and_what_cannot_be_read_marks_nothing(answer: str) -> None:
    made = await judged(Judging(answer))
    assert not any(mark.startswith("session") for mark in check(made).marks)
    assert made.ending == (await judged(Judging(DROPS))).ending
