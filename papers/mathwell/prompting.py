"""Fills in the recipe's prompts from a commission and a written problem."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from soliloquy.recipes.templates import Templates, Texts, fill
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_exact
from soliloquy.v1.conversation_pb2 import Commission, Conversation, Opinion, Problem, Ruling
from soliloquy_papers.mathwell.commissions import (
    POLICY,
    allowed_operations,
    authorship_of,
    commission_of,
    join_names,
)
from soliloquy_papers.mathwell.criteria.verdicts import MODEL, WordProblem

TEMPLATES = Templates(
    Path(__file__).with_name("prompts"),
    {
        "writing": {"examples", "wishes", "earlier"},
        "earlier": {"faults"},
        "judging": {"question", "code", "answer", "doubts", "about"},
        "doubts": {"doubts"},
        "about": {"topic"},
        "reading": {"question"},
    },
    {
        "topics": {"topics": list},
        "settings": {"names": list, "places": list},
        "wishes": dict.fromkeys(
            ("topic", "anything", "setting", "step", "steps", "largest", "grade", "operations"), str
        ),
    },
)


def writing(problem: Problem, changed: Mapping[str, str]) -> Prompt:
    """Returns the prompt that a problem is written with; one that was imported has its topic for a commission."""
    commission, texts = commission_of(problem), TEMPLATES.of(changed)
    faults = "\n".join(f"- {one}" for one in authorship_of(problem).earlier_faults) if problem.labels else ""
    return texts.prompt(
        "writing",
        examples="\n\n".join(f"Problem: {one.question}\n```python\n{one.solution}\n```" for one in commission.examples),
        wishes="\n".join(
            [
                *_wishes(commission, texts.table("wishes")),
                *(_drawn(problem, commission, texts) if problem.labels else ()),
            ]
        ),
        earlier=texts.fill("earlier", faults=faults) if faults else "",
    )


def _drawn(problem: Problem, commission: Commission, texts: Texts) -> Iterator[str]:
    """Yields what is drawn for each problem: its people, its place and its steps."""
    choice, settings, wishes = draw(problem.id, "setting"), texts.table("settings"), texts.table("wishes")
    names = join_names(choice.sample(settings["names"], 2))
    yield fill(wishes["setting"], names=names, place=choice.choice(settings["places"]))
    fewest, most = POLICY["writing"]["steps"].get(str(commission.grade), POLICY["writing"]["steps"]["any"])
    steps = choice.randint(fewest, most)
    yield wishes["step"] if steps == 1 else fill(wishes["steps"], steps=str(steps))
    if largest := POLICY["writing"]["largest"].get(str(commission.grade)):
        yield f"{fill(wishes['largest'], largest=str(largest))}\n<largest>{largest}</largest>"


def judging(problem: WordProblem, opinions: Iterable[Opinion], changed: Mapping[str, str]) -> Prompt:
    """Returns the prompt that judges a written problem; it tells what the judges before it doubt."""
    texts = TEMPLATES.of(changed)
    doubts = "\n".join(f"- {one.criterion}: {one.because}" for one in opinions if one.ruling == Ruling.RULING_UNDECIDED)
    return texts.prompt(
        "judging",
        question=problem.question,
        code=problem.code,
        answer="nothing" if problem.answer is None else format_exact(problem.answer),
        doubts=texts.fill("doubts", doubts=doubts) if doubts else "",
        about=texts.fill("about", topic=problem.topic) if problem.topic else "",
    )


def reading(problem: WordProblem) -> Prompt:
    """Returns the prompt that asks what a problem leaves open."""
    return TEMPLATES.own.prompt("reading", question=problem.question)


def given_prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    asked = {call.prompt for turn in conversation.turns for call in turn.calls}
    changed = conversation.run.prompts
    given = [(1, writing(conversation.problem, changed))]
    if "mathwell/judging" in asked:
        problem = conversation.problem
        before = (one for one in authorship_of(problem).opinions if one.judge != MODEL)
        given.append((1, judging(WordProblem.from_problem(problem), before, changed)))
    return given


def topics(changed: Mapping[str, str]) -> Sequence[str]:
    """Returns the default topics."""
    return tuple(TEMPLATES.of(changed).table("topics")["topics"])


def _wishes(commission: Commission, texts: Mapping[str, str]) -> Iterator[str]:
    if commission.topic:
        yield f"{texts['topic']}\n<topic>{commission.topic}</topic>"
    else:
        yield texts["anything"]
    if commission.grade:
        yield fill(texts["grade"], grade=str(commission.grade))
    if allowed := allowed_operations(commission):
        wish = fill(texts["operations"], operations=join_names(allowed))
        yield f"{wish}\n<operations>{', '.join(allowed)}</operations>"
