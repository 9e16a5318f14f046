"""A person teaches the recipe's student: every message is kept, and the dialogue becomes data like any other."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from soliloquy.annotation.scheme import scheme_of
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.recipe import ReplyContext, find
from soliloquy.runtime.ask import MAX_ASKS
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.teaching.messages import (
    AddTeaching,
    Calculate,
    KeptDialogue,
    OwnProblem,
    RateStudent,
    State,
    Teach,
)
from tests.integration.executor.support import needs_runsc, started
from tests.integration.gateway.school import ANSWERS, MODEL, School, school
from tests.unit.dataset.exports.test_exporting import imported, rows_of
from tests.unit.dataset.small import dataset
from tests.waiting import until

ASKED = AddTeaching(name="Sixth grade", recipe="mathdial", bank="arithmetic", dialogues=3, seed=3)
RESOLVED = {"yes": "Yes", "revealed": "Yes, but I had to reveal the answer", "no": "No"}
HELLO = "Hi! Could you walk me through your solution?"


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[School]:
    async with school(tmp_path) as one:
        yield one


async def test_a_teacher_sees_both_solutions_chooses_moves_and_the_dialogue_is_kept(opened: School) -> None:
    project = await opened.teaching.add(ASKED)
    seat = await opened.seated(project.id)
    assert all((seat.question, seat.solution, seat.handed_in, seat.student))
    assert [move.name for move in seat.moves] == ["focus", "probing", "telling", "generic"]
    seat = await opened.taught(
        seat, ("generic", HELLO), ("probing", "Why did you do that?"), ("focus", "Read it again.")
    )
    assert [one.role for one in seat.messages] == ["tutor", "student"] * 3
    assert [one.move for one in seat.messages if one.role == "tutor"] == ["generic", "probing", "focus"]
    kept = await opened.finished(seat)
    assert (kept.ending, kept.tutor_persona, kept.person) == (Ending.ENDING_SOLVED, "a person", False)
    notes = json.loads(kept.extra)
    assert (notes["teacher"], len(notes["seconds"]), notes["comparison"]["line"]) == ("T1", 3, 1)
    assert notes["answers"]["error"] == "quantity"
    recipe = find("mathdial")
    assert recipe.judge(kept).faults == []
    assert confusion_of(kept.problem.enrichment).description == "It adds the wrong things."
    assert {prompt.name for _, prompt in recipe.prompts(kept)}.isdisjoint({"mathdial/choosing", "mathdial/replying"})
    assert len(recipe.replies(kept, ReplyContext()) if recipe.replies else []) == 3
    assert (await opened.teaching.project(project.id)).own == 1


@pytest.mark.parametrize("answer", ["yes", "revealed", "no"])
async def test_the_kept_dialogue_goes_through_the_published_columns_without_loss(
    opened: School, tmp_path: Path, answer: str
) -> None:
    project = await opened.teaching.add(ASKED)
    seat = await opened.taught(await opened.seated(project.id), ("generic", HELLO), ("telling", "Add them."))
    kept = await opened.finished(seat, resolved=answer)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    export(Dataset(dataset(tmp_path / "kept", [kept])), "mathdial", first, choice=ExportOptions())
    export(Dataset(imported(first, "mathdial", tmp_path / "back")), "mathdial", second, choice=ExportOptions())
    assert first.read_bytes() == second.read_bytes()
    [row] = rows_of(first)
    assert row["teacher_described_confusion"] == "It adds the wrong things."
    assert (row["self-typical-confusion"], row["self-typical-interactions"]) == ("4", "5")
    assert (
        row["self-correctness"] == {"yes": "Yes", "revealed": "Yes, but I had to reveal the answer", "no": "No"}[answer]
    )
    assert row["conversation"].startswith(f"Teacher: (generic){HELLO}|EOM|{seat.student}: ")
    assert "|EOM|Teacher: (telling)Add them.|EOM|" in row["conversation"]


async def test_a_message_is_kept_before_it_is_answered_and_outlives_the_gateway(tmp_path: Path) -> None:
    async with school(tmp_path) as before:
        project = await before.teaching.add(ASKED)
        seat = await before.seated(project.id)
        before.student.silences = 1_000
        sent = Teach(turn=1, text=HELLO, move="generic")
        assert (await before.teaching.say(seat.id, sent)).state is State.STUDENT
        # Sent again, it is kept once.
        assert (await before.teaching.say(seat.id, sent)).state is State.STUDENT
    async with school(tmp_path) as after:
        taken = await after.teaching.next(project.id)
        assert (taken.id, [one.text for one in taken.messages]) == (seat.id, [HELLO])
        assert len((await after.until(seat.id, State.TEACHER)).messages) == 2


async def test_a_silent_student_is_said_to_be_silent_and_asked_again(opened: School) -> None:
    seat = await opened.seated((await opened.teaching.add(ASKED)).id)
    opened.student.silences = 1
    await opened.teaching.say(seat.id, Teach(turn=1, text=HELLO, move="generic"))

    async def told() -> bool:
        return (await opened.teaching.show(seat.id)).fault == "the model is being loaded"

    await until(told)
    assert (await opened.until(seat.id, State.TEACHER)).fault == ""


@dataclass(kw_only=True)
class Stubborn:
    """A student whose answer to a seed is always the same, and unusable for the first seeds."""

    unusable: set[int] = field(default_factory=set)

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.role == "student" and (len(self.unusable) < MAX_ASKS or request.seed in self.unusable):
            self.unusable.add(request.seed)
            return Completion(text="", model="stubborn", engine="openai")
        return await MODEL.generate(request)


async def test_a_student_without_a_usable_answer_is_asked_with_other_seeds(tmp_path: Path) -> None:
    async with school(tmp_path, model=Stubborn()) as opened:
        seat = await opened.seated((await opened.teaching.add(ASKED)).id)
        assert len((await opened.taught(seat, ("generic", HELLO))).messages) == 2


async def test_a_warning_asks_before_the_answer_is_given_away_and_stops_nobody(opened: School) -> None:
    project = await opened.teaching.add(ASKED)
    seat = await opened.taught(await opened.seated(project.id), ("generic", HELLO))
    stored = await opened.teaching._found(seat.id)
    told = f"It is {stored.conversation.problem.answer.value:g}, for 2 + 2 = 5."
    sent = Teach(turn=seat.turn, text=told, move="focus")
    warned = await opened.teaching.say(seat.id, sent)
    assert warned.warnings == [
        "It gives the answer away before the student has found it.",
        "It says '2 + 2 = 5', which does not come out.",
    ]
    assert (await opened.teaching.show(seat.id)).messages == seat.messages
    assert len((await opened.taught(seat, ("focus", told))).messages) > len(seat.messages)


@dataclass(kw_only=True)
class ReadByModel:
    """The stand-in, but for the role `reader`, whose answer is set."""

    claims: list[dict[str, str]] = field(default_factory=list)

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.role != "reader":
            return await MODEL.generate(request)
        return Completion(text=json.dumps({"Claims": self.claims}), model="reader", engine="openai")


@pytest.mark.parametrize(("name", "move"), [("mathdial", "telling"), ("scaffold", ""), ("soliloquy", "stay")])
async def test_a_claim_against_a_settled_value_is_warned_of_and_an_open_one_is_sent(
    tmp_path: Path, name: str, move: str
) -> None:
    model = ReadByModel()
    async with school(tmp_path, model=model) as opened:
        project = await opened.teaching.add(ASKED.model_copy(update={"recipe": name}))
        seat = await opened.seated(project.id)
        answer = (await opened.teaching._found(seat.id)).conversation.problem.answer
        wrong = {"Value": f"{answer.value + 7:g}", "Unit": answer.unit}
        sent = Teach(turn=seat.turn, text=f"I see {wrong['Value']} {answer.unit} there.", move=move)
        model.claims = [wrong | {"Quantity": answer.symbol}]
        told = f"It tells {wrong['Value']} {answer.unit}, and {answer.symbol} = {answer.value:g} {answer.unit}."
        assert (await opened.teaching.say(seat.id, sent)).warnings == [told]
        model.claims = [wrong | {"Quantity": ""}]
        assert (await opened.teaching.say(seat.id, sent)).warnings == ()
        assert (await opened.until(seat.id, State.TEACHER)).messages[-2].text == sent.text


@needs_runsc
@pytest.mark.parametrize("name", ["scaffold", "soliloquy"])
async def test_a_teacher_calculates_in_the_sandbox_and_the_record_has_it_as_a_tutors_program(
    tmp_path: Path, name: str
) -> None:
    async with started(tmp_path) as pool, school(tmp_path, sandbox=pool) as opened:
        project = await opened.teaching.add(ASKED.model_copy(update={"recipe": name}))
        seat = await opened.seated(project.id)
        asked = Calculate(turn=seat.turn, code="20 * 3")
        for _ in range(2):
            # Sent again, it is kept once.
            seat = await opened.teaching.calculate(seat.id, asked)
            assert [one["values"] for one in seat.programs] == [[{"name": "value", "shown": "60"}]]
        seat = await opened.teaching.calculate(seat.id, Calculate(turn=seat.turn, code="while True: pass"))
        assert [one["status"] for one in seat.programs] == ["ok", "timeout"]
        seat = await opened.taught(seat, ("stay" if name == "soliloquy" else "", "How many are on the deck?"))
        assert seat.programs == ()
        kept = await opened.finished(seat)
        first = kept.turns[0].calculation
        assert [one.code for one in first.attempts] == ["value = 20 * 3", "while True: pass"]
        assert first.attempts[0].execution.isolation.startswith("gvisor")
        recipe = find(name)
        assert recipe.judge(kept).faults == []
        assert {prompt.name for _, prompt in recipe.prompts(kept)}.isdisjoint({f"{name}/use_python"})


async def test_several_teachers_have_problems_of_their_own_and_see_no_seat_of_another(opened: School) -> None:
    project = await opened.teaching.add(ASKED)
    seats: dict[str, str] = {}
    for name in ("ada", "ben", "eve", "zoe"):
        CALLER.set(name)
        seats[name] = (await opened.teaching.next(project.id)).id
    assert len({*seats.values()}) == 4
    assert seats["zoe"] == ""
    with pytest.raises(Refusal, match="there is no seat"):
        await opened.teaching.show(seats["ada"])
    CALLER.set("ada")
    TENANT.set("school")
    with pytest.raises(Refusal, match="there is no seat"):
        await opened.teaching.show(seats["ada"])
    TENANT.set("")
    left = await opened.teaching.leave(seats["ada"])
    # A problem that is given up makes room for another, and waits for another teacher.
    assert (await opened.teaching.next(project.id)).question not in ("", left.question)
    CALLER.set("ben")
    await opened.teaching.leave(seats["ben"])
    taken = await opened.teaching.next(project.id)
    assert (taken.question, taken.id in seats.values()) == (left.question, False)


async def test_an_own_problem_that_one_teacher_leaves_is_taught_by_another(opened: School) -> None:
    own = [OwnProblem(question="Ann has 4 bags of 3 apples. How many apples has she?", solution="4 * 3 = 12")]
    project = await opened.teaching.add(AddTeaching(name="Own", recipe="mathdial", problems=own))
    CALLER.set("ada")
    await opened.teaching.leave((await opened.teaching.next(project.id)).id)
    assert (await opened.teaching.next(project.id)).id == ""
    CALLER.set("ben")
    assert (await opened.teaching.next(project.id)).question == own[0].question


async def test_nobody_teaches_before_agreeing_and_a_forgotten_teacher_leaves_no_dialogue(opened: School) -> None:
    asked = ASKED.model_copy(update={"consent": "We keep what you write for a study.", "dialogues": 1})
    project = await opened.teaching.add(asked)
    CALLER.set("ada")
    with pytest.raises(Refusal, match="have not agreed"):
        await opened.teaching.next(project.id)
    assert (await opened.teaching.consent(project.id)).consented
    kept = await opened.finished(await opened.taught(await opened.seated(project.id), ("generic", HELLO)))
    forgotten = await opened.teaching.forget("ada")
    # Its dataset has the dialogue, which `soliloquy forget` removes by these names.
    assert forgotten.kept == [KeptDialogue(run=project.run, conversation=kept.id)]
    told = await opened.teaching.project(project.id)
    assert (told.done, told.own, told.consented) == (0, 0, False)
    CALLER.set("ben")
    await opened.teaching.consent(project.id)
    again = await opened.finished(await opened.taught(await opened.seated(project.id), ("generic", HELLO)))
    assert again.id != kept.id
    assert json.loads(again.extra)["teacher"] == "T2"


async def test_the_dialogue_ends_at_its_bounds(opened: School) -> None:
    seat = await opened.seated((await opened.teaching.add(ASKED)).id)
    while seat.state is State.TEACHER:
        seat = await opened.taught(seat, ("probing", f"Why? This is question {seat.turn}."))
    assert (seat.state, seat.turns_left) == (State.RATING, 0)
    assert seat.scheme == scheme_of("mathdial")
    with pytest.raises(Refusal, match="not teacher"):
        await opened.teaching.say(seat.id, Teach(turn=seat.turn + 1, text="More", move="focus"))


@pytest.mark.parametrize(("name", "moves"), [("scaffold", ("", "", "")), ("soliloquy", ("stay", "stay", "next"))])
async def test_a_teacher_has_the_students_of_other_recipes(opened: School, name: str, moves: Sequence[str]) -> None:
    project = await opened.teaching.add(ASKED.model_copy(update={"recipe": name}))
    seat = await opened.seated(project.id)
    assert seat.plan
    said = [(move, f"What comes next, at number {number}?") for number, move in enumerate(moves)]
    seat = await opened.taught(seat, *said)
    assert [one.role for one in seat.messages] == ["student", "tutor"] * 3 + ["student"]
    kept = await opened.finished(seat)
    recipe = find(name)
    assert recipe.judge(kept).faults == []
    assert recipe.record(kept)["tutor_persona"] == "a person"
    asked = {prompt.name.removeprefix(f"{name}/") for _, prompt in recipe.prompts(kept)}
    assert asked.isdisjoint({"deciding", "tutoring", "received_python", "no_python"})
    for samples in (recipe.lessons, recipe.dialogue):
        with pytest.raises(Refused, match="answers no prompts"):
            samples(kept)


async def test_bad_projects_moves_and_answers_are_refused(opened: School) -> None:
    for asked, told in (
        ({"bank": ""}, "send either bank or problems"),
        ({"bank": "nowhere"}, "there is no bank 'nowhere'"),
        ({"recipe": "mathwell"}, "seats no teacher: use mathdial or scaffold or soliloquy"),
    ):
        with pytest.raises(Refusal, match=told):
            await opened.teaching.add(ASKED.model_copy(update=asked))
    seat = await opened.seated((await opened.teaching.add(ASKED)).id)
    with pytest.raises(Refusal, match="move: 'hint' is not one of focus"):
        await opened.teaching.say(seat.id, Teach(turn=1, text=HELLO, move="hint"))
    with pytest.raises(Refusal, match="nothing has been said yet"):
        await opened.teaching.end(seat.id)
    seat = await opened.taught(seat, ("generic", HELLO))
    await opened.teaching.end(seat.id)
    with pytest.raises(Refusal, match="resolved: 'maybe' is not one of"):
        await opened.teaching.rate(seat.id, RateStudent(values=ANSWERS | {"resolved": "maybe"}))
