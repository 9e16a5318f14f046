"""Conversations with the labels of each recipe."""

from collections.abc import Callable, Iterator, Mapping

from soliloquy.recipes.mathdial import labels_pb2 as mathdial
from soliloquy.recipes.scaffold import labels_pb2 as scaffold
from soliloquy.recipes.soliloquy import labels_pb2 as soliloquy
from soliloquy.v1.conversation_pb2 import (
    Commission,
    Conversation,
    Discarded,
    Enrichment,
    ErrorStrategy,
    Evaluation,
    Opinion,
    Problem,
    Ruling,
    StudentReply,
    Turn,
    TutorReply,
)
from soliloquy_papers.mathwell import labels_pb2 as mathwell


def labelled(conversation: Conversation, recipe: str) -> Conversation:
    """A copy in another recipe, whose first turn and problem have a label in each place that the recipe has."""
    made = Conversation()
    made.CopyFrom(conversation)
    made.run.recipe = recipe
    for place in places(made):
        place.ClearField("labels")
        if isinstance(place, TutorReply):
            place.ClearField("evaluation")
    _LABEL[recipe](made)
    return made


def places(made: Conversation) -> Iterator[Conversation | Problem | Enrichment | Turn | StudentReply | TutorReply]:
    """Yields every message of a conversation that may have labels."""
    yield from (made, made.problem)
    if made.problem.HasField("enrichment"):
        yield made.problem.enrichment
    for turn in made.turns:
        yield turn
        if turn.HasField("student"):
            yield turn.student
        if turn.HasField("tutor"):
            yield turn.tutor


def _soliloquy(made: Conversation) -> None:
    made.turns[0].tutor.evaluation = Evaluation.EVALUATION_UNCLEAR
    student = soliloquy.StudentLabels(strategy=ErrorStrategy.ERROR_STRATEGY_ARITHMETIC)
    tutor = soliloquy.TutorLabels(action=8, step=1, state=soliloquy.StepState.STEP_STATE_IN_PROGRESS)
    made.turns[0].student.labels = student.SerializeToString()
    made.turns[0].tutor.labels = tutor.SerializeToString()


def _mathdial(made: Conversation) -> None:
    made.turns[0].tutor.evaluation = Evaluation.EVALUATION_UNCLEAR
    confusion = mathdial.Confusion(solution="It falls 5 m + 5 m.", description="Counts it twice.", answer=10)
    confusion.category = mathdial.ErrorCategory.ERROR_CATEGORY_QUANTITY
    confusion.discarded.append(Discarded(because="unreadable", samples=3))
    named = mathdial.ConversationLabels(student_name="Alex", pronoun="he", reasons_wanted=2, typical_confusion=4)
    student = mathdial.StudentLabels(belief=mathdial.Belief.BELIEF_DOUBTED, reasons=1)
    tutor = mathdial.TutorLabels(move=mathdial.Move.MOVE_FOCUS, move_intent=mathdial.MoveIntent.MOVE_INTENT_GUIDE_FOCUS)
    made.labels = named.SerializeToString()
    made.problem.enrichment.labels = mathdial.EnrichmentLabels(confusion=confusion).SerializeToString()
    made.turns[0].student.labels = student.SerializeToString()
    made.turns[0].tutor.labels = tutor.SerializeToString()


def _mathwell(made: Conversation) -> None:
    opinion = Opinion(criterion="solvable", ruling=Ruling.RULING_NO, judge="a rule", because="It asks nothing.")
    measures = mathwell.Measures(reading_grade=4.5, tokens=11, operations=["addition"], names_topic=True)
    authorship = mathwell.Authorship(commission=Commission(topic="falling"), opinions=[opinion], measures=measures)
    made.problem.labels = mathwell.ProblemLabels(authorship=authorship).SerializeToString()


def _scaffold(made: Conversation) -> None:
    plan = scaffold.Plan(analysis="First how far, then how fast.")
    plan.questions.add(question="How far does it fall?", answer="5 m", steps=[1])
    plan.discarded.append(Discarded(because="uncovered", samples=2))
    state = scaffold.LearnerState.LEARNER_STATE_CONFUSION
    made.problem.enrichment.labels = scaffold.EnrichmentLabels(plan=plan).SerializeToString()
    made.turns[0].labels = scaffold.TurnLabels(sub_question=1, solved=[False]).SerializeToString()
    made.turns[0].student.labels = scaffold.StudentLabels(learner_state=state).SerializeToString()
    made.turns[0].tutor.labels = scaffold.TutorLabels(learner_state=state).SerializeToString()


_LABEL: Mapping[str, Callable[[Conversation], None]] = {
    "mathdial": _mathdial,
    "mathwell": _mathwell,
    "scaffold": _scaffold,
    "soliloquy": _soliloquy,
}
RECIPES = tuple(_LABEL)
