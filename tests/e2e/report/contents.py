"""Tells what the conversations of the report under test hold, and finds the way through the page."""

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Status
from tests.e2e.chromium import Page
from tests.unit.dataset.labelled import labelled

# In every text of one conversation: nothing of it may be taken for markup.
HOSTILE = "</script><img src=x onerror=\"window.harmed='yes'\"><b>&amp;</b>"
HIDDEN = "only_a_soliloquy_says_this"
READY = "performance.getEntriesByName('ready').length"
COUNT = "Number(document.getElementById('found').textContent.split(' ')[0].replaceAll(',', ''))"
# A rejected conversation of each other recipe.
ID_OF = {"mathdial": "d" * 24, "mathwell": "e" * 24, "scaffold": "f" * 24}
FOCUSED = "document.activeElement.dataset.row"


def copied(conversation: Conversation, name: str) -> Conversation:
    copy = Conversation()
    copy.CopyFrom(conversation)
    copy.id = name
    return copy


def hostile(conversation: Conversation) -> Conversation:
    made = copied(conversation, "c0ffee")
    for name in ("question", "solution", "topic", "source"):
        setattr(made.problem, name, HOSTILE)
    made.persona = made.ending_reason = HOSTILE
    for turn in made.turns:
        turn.student.text = turn.tutor.text = turn.tutor.thoughts = HOSTILE
        for call in turn.calls:
            call.model = call.role = HOSTILE
        for attempt in turn.calculation.attempts:
            attempt.code = attempt.execution.stdout = HOSTILE
            attempt.execution.status = Status.STATUS_ERROR
            attempt.execution.error = HOSTILE
    return made


def of_recipe(conversation: Conversation, recipe: str) -> Conversation:
    """With what only some recipes have: a plan, a wrong solution, judges, moves, and a message that was sent back."""
    made = labelled(copied(conversation, ID_OF[recipe]), recipe)
    made.turns[0].rejected.add(role="student", text=f"{recipe} says 5 m.", because="That answers.")
    return made


async def listed(page: Page) -> None:
    await page.evaluate("location.hash = 'conversations'")
    await page.until("document.querySelectorAll('#list a').length && document.querySelector('.turns > li')")


async def chosen(page: Page, name: str, value: str) -> None:
    """The value of a filter, by how it begins."""
    option = f"[...select.options].find((option) => option.text.startsWith({value!r})).value"
    await page.evaluate(
        f"(() => {{ const select = document.querySelector('[data-filter={name}]'); select.value = {option};"
        "select.dispatchEvent(new Event('change')); })()"
    )


async def searched(page: Page, text: str) -> int:
    await page.evaluate("document.getElementById('search').value = ''; document.getElementById('search').focus()")
    await page.write(text)
    await page.until(f"search.needle === {text.lower()!r} && search.share === 1")
    return int(await page.evaluate(COUNT))
