"""A role that writes several versions keeps the one in which the recipe's own check finds the least."""

from soliloquy.recipes.playing import play, play_best
from soliloquy.recipes.recipe import find
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import TutorReplied
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.unit.recipes.conversations import conversation, sound_turns

SOLILOQUY = find("soliloquy")
# The first has too many words.
FAULTY, SOUND, UNUSABLE = " ".join(["180000 J"] * 100), "180000 J", ""


class Student:
    """Says these one after another, and the last from then on."""

    def __init__(self, *said: str) -> None:
        self.said = said
        self.seeds: list[int] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.seeds.append(request.seed)
        return Completion(text=self.said[min(len(self.seeds), len(self.said)) - 1])


async def best_of(number: int, *said: str) -> tuple[Conversation, Student]:
    student, event = Student(*said), TutorReplied(conversation=conversation(*sound_turns()[:2]))
    [replied] = await play_best(
        event, SOLILOQUY.student, role="student", model=student, recipe=SOLILOQUY, best_of=number
    )
    return replied.conversation, student


async def test_the_version_with_the_fewest_faults_is_taken_and_every_call_is_recorded() -> None:
    for said in [(FAULTY, SOUND, FAULTY), (FAULTY, FAULTY, SOUND), (SOUND, FAULTY, FAULTY)]:
        replied, _ = await best_of(3, *said)
        last = replied.turns[-1]
        assert last.student.text == SOUND
        assert sorted(call.raw[0] for call in last.calls) == sorted(said)
        assert last.calls[-1].raw == [SOUND]


async def test_a_version_that_broke_off_is_not_taken() -> None:
    replied, _ = await best_of(2, UNUSABLE, UNUSABLE, UNUSABLE, FAULTY)
    assert replied.turns[-1].student.text == FAULTY
    broken, _ = await best_of(2, UNUSABLE)
    assert "unusable after 3 asks" in broken.ending_reason


async def test_the_first_version_is_asked_for_as_the_only_one_is() -> None:
    _, several = await best_of(2, SOUND)
    alone = Student(SOUND)
    event = TutorReplied(conversation=conversation(*sound_turns()[:2]))
    await play(event, SOLILOQUY.student, role="student", model=alone)
    assert several.seeds[0] == alone.seeds[0]
    assert len(set(several.seeds)) == 2


async def test_a_recipe_that_ranks_nothing_writes_one_version() -> None:
    assert "composer" not in find("mathwell").ranked
    _, student = await best_of(1, SOUND)
    assert len(student.seeds) == 1
