"""Samples have the recipe's exact prompts, and answers that the recipe accepts as they are."""

from copy import deepcopy

from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.recipe import find
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import Answer
from soliloquy.v1.conversation_pb2 import CodeAttempt, Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution
from soliloquy_training.data import samples
from tests.unit.recipes.conversations import sound_conversation
from tests.unit.scripted.growing import ENGINE, grown
from tests.unit.training.growing import SEED, conversations

ANSWERS: dict[str, type[Answer]] = {
    "soliloquy/deciding": Decision,
    "soliloquy/use_python": Program,
    "soliloquy/received_python": Reply,
    "soliloquy/no_python": Reply,
}


class Learned:
    """Plays the tutor with the learned answers, word for word, and nothing else."""

    def __init__(self, conversation: Conversation) -> None:
        self._answers = {
            tuple((message.role, message.text) for message in lesson.prompt.messages): lesson.answer
            for lesson in find("soliloquy").lessons(conversation)
        }

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.role == "student":
            return await ENGINE.generate(request)
        asked = tuple((message.role, message.text) for message in request.messages)
        return Completion(text=self._answers[asked], model="learned")


def without_calls(conversation: Conversation) -> Conversation:
    kept = Conversation()
    kept.CopyFrom(conversation)
    for turn in kept.turns:
        del turn.calls[:]
    return kept


async def test_a_model_that_answers_as_learned_grows_the_very_same_conversation() -> None:
    for ordinal in range(3):
        first = await grown(ordinal, seed=SEED)
        again = await grown(ordinal, seed=SEED, engine=Learned(first))  # type: ignore[arg-type]
        assert without_calls(again) == without_calls(first)


def test_the_recipe_reads_every_learned_answer_without_repair() -> None:
    for conversation in conversations(20):
        for lesson in find("soliloquy").lessons(conversation):
            _, strict = ANSWERS[lesson.prompt.name].read(lesson.answer)
            assert strict, lesson.answer


def test_what_is_learned_from_is_every_prompt_of_the_tutors_and_none_of_the_students() -> None:
    conversation = conversations(1)[0]
    asked = [prompt for _, prompt in find("soliloquy").prompts(conversation) if prompt.name in ANSWERS]
    assert [lesson.prompt for lesson in find("soliloquy").lessons(conversation)] == asked


def test_a_program_that_failed_is_not_learned_and_the_one_that_mended_it_is() -> None:
    conversation = sound_conversation()
    attempts = conversation.turns[1].calculation.attempts
    right = attempts[0]
    failed = CodeAttempt(code="result = mass", execution=Execution(status=STATUS_ERROR, error="no mass"))
    del attempts[:]
    attempts.extend([failed, right])
    programs = [one for one in find("soliloquy").lessons(conversation) if one.prompt.name == "soliloquy/use_python"]
    mended = [one for one in programs if one.turn == conversation.turns[1].number]
    assert [Program.read(one.answer)[0].code for one in mended] == [right.code]
    assert "no mass" in mended[0].prompt.messages[-1].text


def test_nothing_but_the_tutors_own_words_is_learned() -> None:
    for conversation in conversations(5):
        for sample in samples(conversation, "states"):
            *prompt, answer = sample
            assert answer.learned
            assert answer.role == "assistant"
            assert not any(message.learned for message in prompt)


def test_a_dialogue_has_the_decision_the_code_its_output_from_a_tool_and_the_reply() -> None:
    conversation = next(one for one in conversations(5) if any(turn.HasField("calculation") for turn in one.turns))
    turn = next(turn for turn in conversation.turns if turn.HasField("calculation"))
    [sample] = samples(conversation, "dialogue")
    told = [message for message in sample if message.turn == turn.number]
    assert [(message.role, message.learned) for message in told] == [
        ("user", False),
        ("assistant", True),
        ("tool", False),
        ("assistant", True),
    ]
    student, decided, output, replied = (message.text for message in told)
    decision, program = decided.splitlines()
    assert student == turn.student.text
    assert Decision.read(decision)[0].description == turn.calculation.description
    assert Program.read(program)[0].code == turn.calculation.attempts[-1].code
    assert output.startswith(turn.calculation.attempts[-1].execution.values[0].name)
    assert Reply.read(replied)[0].text == turn.tutor.text


def test_a_dialogue_may_hold_the_outline_as_its_manual_and_teaches_the_same() -> None:
    conversation = deepcopy(conversations(1)[0])
    enrichment = conversation.problem.enrichment
    enrichment.detailed_solution, enrichment.outline = "Step 1) 6 / 2 = 3", "Step 1) Divide."
    [detailed], [outlined] = (samples(conversation, "dialogue", manual=manual) for manual in ("detailed", "outline"))
    assert "6 / 2 = 3" in detailed[0].text
    assert "6 / 2 = 3" not in outlined[0].text
    assert "Step 1) Divide." in outlined[0].text
    assert outlined[1:] == detailed[1:]
    assert enrichment.detailed_solution == "Step 1) 6 / 2 = 3"
    enrichment.outline = ""
    [without] = samples(conversation, "dialogue", manual="outline")
    assert without == detailed


def test_what_a_dialogue_teaches_is_what_the_states_teach() -> None:
    for conversation in conversations(5):
        [whole] = samples(conversation, "dialogue")
        learned = "\n".join(message.text for message in whole if message.learned)
        assert learned == "\n".join(sample[-1].text for sample in samples(conversation, "states"))
