"""A model is asked for its opinion through the model's boundary, and its objections count."""

from dataclasses import replace

from soliloquy.runtime.ask import Ask
from soliloquy.runtime.model import Model
from soliloquy_papers.mathwell.answers import Judgement
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Scores, opinion
from soliloquy_papers.mathwell.judging import model_opinions
from tests.unit.papers.mathwell.labelled import labelled
from tests.unit.papers.mathwell.writing import ENGINE, Says


def asking(model: Model) -> Ask:
    return Ask(model=model, role="composer", origin=(7,))


async def test_the_scripted_judge_says_no_where_a_rule_objects_or_doubts() -> None:
    for problem, *_ in labelled("held_out")[::8]:
        opinions = await model_opinions(replace(problem, topic=""), (), asking(ENGINE), {})
        assert [one.criterion for one in opinions] == list(Criterion)
        said = Scores(opinions=opinions, topic_named=None)
        doubted = {one.criterion for one in score(problem).opinions if one.judge != "rules"}
        assert {one for one in Criterion if not said.meets(one)} == doubted


async def test_a_model_is_told_what_the_rules_doubt() -> None:
    problem, model = next(one.problem for one in labelled("made_with")), Says()
    doubt = opinion(Criterion.SOLVABLE, meets=None, judge="rule conflict", because="24 and 26 pupils")
    await model_opinions(problem, [doubt], asking(model), {})
    assert "- solvable: 24 and 26 pupils" in model.asked[-1].messages[-1].text


async def test_a_models_no_keeps_a_problem_out_with_its_reason() -> None:
    good = next(one.problem for one in labelled("made_with") if score(one.problem).meets_all)
    problem, model = replace(good, topic=""), Says()
    model.judgement = Judgement.written(
        solvable="y",
        why_solvable="It gives both numbers.",
        accurate="y",
        why_accurate="The sum is right.",
        appropriate="n",
        why_appropriate="No zoo has so many.",
    )
    opinions = await model_opinions(problem, (), asking(model), {})
    assert score(problem, opinions).objections == ["appropriate: model: No zoo has so many."]
    (request,) = model.asked
    assert problem.question in request.messages[-1].text
    assert problem.code in request.messages[-1].text
