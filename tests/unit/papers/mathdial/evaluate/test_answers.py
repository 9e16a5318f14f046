"""Which messages give an answer, and which merely hold its number."""

from soliloquy.recipes.mathdial.confusion import labelled
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.v1.conversation_pb2 import CLAIM_READER_SPEAKER, Claim, Enrichment, Problem, Quantity, Step, StudentReply
from soliloquy_papers.mathdial.evaluate.answers import ExpectedAnswer, mentions, reaches, tells
from tests.cases import each_case


def wanted(value: float, unit: str = "", *, shared: bool = False, name: str = "") -> ExpectedAnswer:
    return ExpectedAnswer(value=value, unit=unit, name=name, tolerance=1e-6, wrong=None, shared=shared)


@each_case
def test_a_student_reaches_an_answer_however_it_writes_it(message: str, value: float, unit: str) -> None:
    assert reaches(StudentReply(text=message), wanted(value, unit))


@each_case
def test_a_number_that_is_asked_about_quoted_denied_or_on_the_way_is_no_answer(
    message: str, value: float, unit: str
) -> None:
    assert not reaches(StudentReply(text=message), wanted(value, unit))


def test_a_student_who_says_what_it_claims_is_taken_at_its_word() -> None:
    price = Problem(question="How much is it?", answer=Quantity(symbol="p", value=12, unit="$"))
    asked = ExpectedAnswer.from_problem(price)
    assert asked is not None

    def claims(*claims: Claim) -> bool:
        return reaches(StudentReply(text="It is not 9 but 12.", claims=claims, claims_by=CLAIM_READER_SPEAKER), asked)

    assert claims(Claim(quantity="p", value=12))
    assert claims(Claim(value=12, unit="$"))
    assert not claims()
    assert not claims(Claim(quantity="boxes", value=12))
    assert not claims(Claim(quantity="p", value=9))


def test_a_tutor_must_name_a_number_as_the_answer_that_another_quantity_has_too() -> None:
    """Twelve boxes of apples at a dollar each: the boxes are no answer."""
    steps = [Step(result=Quantity(name="boxes", value=12)), Step(result=Quantity(name="price paid", value=12))]
    answer = Quantity(name="price paid", value=12)
    problem = Problem(question="Every box is a dollar.", steps=steps, answer=answer)
    both = ExpectedAnswer.from_problem(problem)
    assert both is not None
    assert both.shared
    assert reaches(StudentReply(text="I have 12."), both)
    assert reaches(StudentReply(text="So the answer is 12."), both)
    assert reaches(StudentReply(text="The price paid is 12."), both)
    assert not tells("There are 12 of them.", both)
    assert tells("They cost 12 altogether.", both)


@each_case
def test_a_tutor_tells_an_answer_in_a_question_too(message: str, is_telling: bool) -> None:
    assert tells(message, wanted(10, "dollars")) is is_telling


def test_an_answer_is_mentioned_in_whatever_way() -> None:
    assert all(mentions(text, wanted(10)) for text in ("Is it 10?", "It is not 10.", "Take 10 * 3."))
    assert not mentions("Is it 11?", wanted(10))


def test_the_answer_of_an_imported_problem_stands_at_the_end_of_its_solution() -> None:
    marked = ExpectedAnswer.from_problem(Problem(solution="4 + 6 = <<4+6=10>>10 in all\n#### 1,010"))
    plain = ExpectedAnswer.from_problem(Problem(solution="He has 4 + 6 = 10 of them.\n 10"))
    assert marked is not None
    assert plain is not None
    assert (marked.value, plain.value) == (1010, 10)
    assert ExpectedAnswer.from_problem(Problem(question="Why is the sky blue?", solution="Because it is.")) is None


def test_what_is_nearer_to_the_answer_of_the_confusion_is_not_right() -> None:
    confusion = Confusion(solution="..", answer=104.8, samples=50)
    near = Problem(
        answer=Quantity(value=105), tolerance=0.01, enrichment=Enrichment(labels=labelled(confusion)), solution="105"
    )
    held = ExpectedAnswer.from_problem(near)
    assert held is not None
    assert reaches(StudentReply(text="I get 105."), held)
    assert not reaches(StudentReply(text="I get 104.8."), held)
