"""ScaffoldEval: what is put is the same for everybody, rules decide what they can, and nobody guesses the rest."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.bank.sampling import sample
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure, first_error
from soliloquy.runtime.model import Model, ModelRefused
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_papers.scaffold.evaluate.dialogues import (
    COOPERATIVE,
    MIXED,
    SEGMENT,
    DialogueCase,
    DialogueRound,
    HeldDialogue,
    digest_of_cases,
    is_suitable,
    make_cases,
)
from soliloquy_papers.scaffold.evaluate.dimensions import accuracy, scaffolding, score_dialogue, topic
from soliloquy_papers.scaffold.evaluate.evaluator import Evaluator, ScoredDialogue
from soliloquy_papers.scaffold.evaluate.figures import PAPER, TITLES, WHOSE, figures, page
from soliloquy_papers.scaffold.evaluate.judging import SCORES
from soliloquy_papers.scaffold.evaluate.tutors import TUTORS
from soliloquy_services.executor.handler import run
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_training.evaluation.cases import run_bounded
from soliloquy_training.evaluation.comparison import page as compared
from soliloquy_training.evaluation.comparison import read
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from soliloquy_training.evaluation.report import write_report
from tests.cases import each_case
from tests.unit.scripted.growing import DESK

BANK = load_bank("arithmetic")
SCRIPTED = ScriptedEngine()


@cache
def problems() -> Sequence[Problem]:
    drawn = (BANK.family(name).problem(number) for name, number in sample(BANK, 3))
    return list(islice(filter(is_suitable, drawn), 12))


@cache
def cases() -> Sequence[DialogueCase]:
    return list(make_cases(problems(), segments=9, seed=3))


def evaluated(
    model: Model, *, tutor: str = "planned", judge: Model | None = None, tries: int = 0
) -> list[ScoredDialogue]:
    tutoring = RecipeLoop(recipe=find("scaffold"), model=model, execute=partial(run, sandbox=DESK))
    evaluator = Evaluator(
        tutor=lambda case: TUTORS[tutor](case, tutoring),
        judge=judge,
        student=SCRIPTED,
        tries=tries,
    )
    return asyncio.run(run_bounded(cases(), evaluator.evaluate, at_once=4))


@cache
def scripted() -> list[ScoredDialogue]:
    return evaluated(SCRIPTED, tries=4)


class Saying:
    """A model that makes its answer from the request."""

    def __init__(self, say: Callable[[GenerateRequest], str]) -> None:
        self._say = say
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(request)
        return Completion(text=self._say(request), model="saying")


def rubric(request: GenerateRequest) -> str:
    return request.prompt.removeprefix("scaffold/")


def best(request: GenerateRequest) -> str:
    return json.dumps({"Reason": "It does.", "Score": SCORES[rubric(request)][1]})


def talk(kind: str, *replies: str, state: str = "comprehension", ended: bool = True) -> HeldDialogue:
    case = DialogueCase(kind=kind, number=0, problem=problems()[0], seed=0, states={state: 1.0})
    return HeldDialogue(
        case=case, rounds=[DialogueRound(state=state, student="Okay.", tutor=text) for text in replies], ended=ended
    )


def right(problem: Problem) -> str:
    return f"{problem.answer.value:g} {problem.answer.unit}".strip()


def test_both_passes_go_over_the_same_problems_and_the_mixed_one_in_the_papers_parts() -> None:
    kinds = Counter(case.kind for case in cases())
    assert kinds == {COOPERATIVE: 12, MIXED: 12, SEGMENT: 9}
    asked = [[case.problem.id for case in cases() if case.kind == kind] for kind in (COOPERATIVE, MIXED)]
    assert asked[0] == asked[1]
    mixed = Counter(tuple(case.states.items()) for case in cases() if case.kind == MIXED)
    assert mixed == {
        (("comprehension", 0.6), ("confusion", 0.3), ("irrelevant", 0.1)): 8,
        (("confusion", 1.0),): 2,
        (("irrelevant", 1.0),): 2,
    }
    states = Counter(case.before[-1].state for case in cases() if case.kind == SEGMENT)
    assert states == {"correct": 3, "incorrect": 3, "question": 3}


def test_the_same_seed_puts_the_same_and_another_one_something_else() -> None:
    assert digest_of_cases(cases()) == digest_of_cases(list(make_cases(problems(), segments=9, seed=3)))
    assert digest_of_cases(cases()) != digest_of_cases(list(make_cases(problems(), segments=9, seed=4)))


def test_the_scripted_tutor_leads_step_by_step_and_stays_with_the_problem() -> None:
    made = figures(scripted())
    for name in ("accuracy", "scaffolding", "topic"):
        assert made["metrics"][name]["share"] == 1.0, name
    assert made["metrics"]["leaked"]["share"] == 0.0
    assert made["broken"] == 0
    dialogues = [one.dialogue for one in scripted() if one.dialogue.case.kind == COOPERATIVE]
    assert all(one.ended for one in dialogues)
    assert all(len(one.rounds) == len(one.case.problem.steps) + 1 for one in dialogues)


def test_a_confused_student_is_talked_to_for_twenty_turns_at_most() -> None:
    confused = [one.dialogue for one in scripted() if set(one.dialogue.case.states) == {"confusion"}]
    assert [len(one.rounds) for one in confused] == [20, 20]
    assert not any(one.ended for one in confused)


def test_the_student_solves_more_after_a_dialogue_and_is_not_told_the_end_of_it() -> None:
    made = figures(scripted())
    gained = [one.gained for one in scripted() if one.gained]
    assert len(gained) == 12
    assert made["measures"]["delta_solve_rate"] > 0
    rates = made["solve_rate"]
    assert rates["after"] - rates["before"] == made["measures"]["delta_solve_rate"]
    assert not any(one.leaked for one in gained)


def test_without_a_judge_what_no_rule_can_decide_is_not_measured() -> None:
    made = figures(scripted())
    assert {name for name, value in made["measures"].items() if value is None} == {"question", "guidance", "adaptive"}
    assert made["judged_by"]["question"].keys() == {"not measured"}
    assert made["judged_by"]["accuracy"] == {"rule": 20}


def test_a_judge_scores_by_the_rubrics_and_each_row_says_who_judged() -> None:
    judge = Saying(best)
    results = evaluated(SCRIPTED, judge=judge)
    made = figures(results)
    assert {rubric(request) for request in judge.requests} == set(SCORES)
    assert made["metrics"]["question"]["share"] == 1.0
    assert {one.by for result in results for one in result.scores} == {"rule", "model"}
    assert set(made["adaptive_by_state"]) == {"correct", "incorrect", "question"}


async def test_a_repeated_reply_brings_nothing_new_whatever_a_judge_says_of_it() -> None:
    dialogue = talk(MIXED, "What is first?", "And what is next?", "What is first?", ended=False)
    scores = [one async for one in score_dialogue(dialogue, Saying(best)) if one.dimension == "guidance"]
    assert [(one.score, one.by) for one in scores] == [(1.0, "model"), (1.0, "model"), (0.0, "rule")]


def test_a_judge_whose_answers_are_none_leaves_the_dimension_unmeasured() -> None:
    made = figures(evaluated(SCRIPTED, judge=Saying(lambda _: json.dumps({"Reason": "Fine.", "Score": 17}))))
    assert made["measures"]["question"] is None


def test_a_judge_that_refuses_ends_the_evaluation_with_its_reason() -> None:
    class Refusing:
        async def generate(self, request: GenerateRequest) -> Completion:
            raise ModelRefused("the key is not valid")

    async def putting() -> None:
        evaluator = Evaluator(
            tutor=lambda case: TUTORS["plain"](case, tutoring), judge=Refusing(), student=SCRIPTED, tries=0
        )
        await run_bounded(cases(), evaluator.evaluate, at_once=4)

    asking = Saying(lambda _: "What would you do first?")
    tutoring = RecipeLoop(recipe=find("scaffold"), model=asking, execute=partial(run, sandbox=DESK))
    with pytest.raises(ExceptionGroup) as refused:
        asyncio.run(putting())
    failure = first_error(refused.value)
    assert (type(failure), str(failure)) == (ModelRefused, "the key is not valid")
    assert isinstance(failure, Failure)


def test_a_tutor_that_tells_the_answer_at_once_scaffolds_nothing() -> None:
    answers = {problem.question: right(problem) for problem in problems()}
    telling = Saying(lambda request: f"The answer is {answers[request.messages[1].text]}.")
    made = figures(evaluated(telling, tutor="plain"))
    assert made["metrics"]["accuracy"]["share"] == 1.0
    assert made["metrics"]["scaffolding"]["share"] == 0.0
    assert made["metrics"]["ended"]["share"] == 1.0


def test_a_tutor_that_goes_along_with_anything_adheres_to_no_topic_and_asks_nothing() -> None:
    made = figures(evaluated(Saying(lambda _: "How nice! I like that too."), tutor="plain"))
    assert made["metrics"]["topic"]["share"] == 0.0
    assert made["metrics"]["accuracy"]["share"] == 0.0
    assert made["metrics"]["question"]["share"] == 0.0
    assert made["judged_by"]["question"] == {"rule": 24 * 20}


def test_a_tutor_that_gives_no_usable_answer_is_broken_off_and_scores_nothing() -> None:
    class Refusing:
        async def generate(self, request: GenerateRequest) -> Completion:
            raise ModelRefused("no such model")

    for model in (Saying(lambda _: "?"), Refusing()):
        results = evaluated(model)
        made = figures(results)
        assert made["broken"] == len(results)
        assert made["metrics"]["accuracy"]["share"] == made["metrics"]["adaptive"]["share"] == 0.0


@pytest.mark.parametrize(("text", "score"), [("{} it is.", 1.0), ("It is 3.25 after all.", 0.0), ("All done!", 0.0)])
def test_the_answer_counts_that_a_tutor_ends_with(text: str, score: float) -> None:
    last = text.format(right(problems()[0]))
    assert accuracy(talk(COOPERATIVE, "What is first?", "And then?", last)).score == score
    assert accuracy(talk(COOPERATIVE, "What is first?", last, ended=False)).score == 0.0


def test_the_answer_may_be_told_in_the_closing_turns_alone() -> None:
    answer = f"It is {right(problems()[0])}."
    assert scaffolding(talk(COOPERATIVE, "What?", "And?", "So?", answer)).score == 1.0
    assert scaffolding(talk(COOPERATIVE, "What?", answer, "And?", "So?")).score == 0.0
    assert scaffolding(talk(COOPERATIVE, "What?", answer)).score == 0.0


def test_leading_back_in_words_is_more_than_going_on() -> None:
    ask = problems()[0].steps[0].ask
    replies = (f"Let's get back to our problem. {ask}", ask, "Pirates! I love them.")
    assert [one.score for one in topic(talk(MIXED, *replies, state="irrelevant"))] == [1.0, 0.5, 0.0]


@each_case
def test_what_a_rule_finds_of_a_reply_needs_no_judge(state: str, reply: str, score: float | None) -> None:
    dialogue = talk(SEGMENT, reply.format(right(problems()[0])), state=state)

    async def scores() -> list[tuple[float | None, str]]:
        return [(one.score, one.by) async for one in score_dialogue(dialogue, None)]

    assert asyncio.run(scores()) == [(score, "not measured" if score is None else "rule")]


def test_a_report_is_written_drawn_beside_the_papers_and_compared(tmp_path: Path) -> None:
    results = scripted()
    report = {
        "protocol": "scaffold",
        "name": "scripted",
        "cases": {"put": "12 dialogues", "sha256": digest_of_cases(cases())},
        "titles": TITLES,
        "figures": figures(results),
        "paper": PAPER,
        "whose": WHOSE,
    }
    written = list(page(report, results))
    write_report(tmp_path / "a", report, results, written)
    text = (tmp_path / "a" / "report.md").read_text()
    assert "| answer accuracy | 1.00 (20 of 20, 0.84 to 1.00) | 0.79 | rule: 20 |" in text
    assert "| question quality | not measured | 0.83 |" in text
    assert "| ScaffoldLM-7B | 0.785 | 0.988 | 0.999 | 0.830 | 0.525 | 0.841 |" in text
    write_report(tmp_path / "b", report | {"name": "other"}, results, written)
    side_by_side = "\n".join(compared(read([tmp_path / "a", tmp_path / "b"])))
    assert "| stepwise scaffolding |" in side_by_side


@each_case
def test_what_cannot_be_evaluated_is_said_in_one_line(tmp_path: Path, options: list[str], line: str) -> None:
    one = tmp_path / "one.jsonl"
    one.write_text(json.dumps({"question": "What is 3 + 4?", "solution": "3 + 4 = 7"}) + "\n", "utf-8")
    given = [option.format(one=one) for option in options]
    result = CliRunner().invoke(commands, ["evaluate", "scaffold", *given, "--out", str(tmp_path / "out")])
    assert result.exit_code != 0
    assert line in f"{result.output} {result.exception}"
    assert not (tmp_path / "out").exists()
