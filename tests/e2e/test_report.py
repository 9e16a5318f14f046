"""The report in a real browser, from a file and without a network."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.v1.conversation_pb2 import Conversation, ErrorStrategy
from soliloquy.v1.sandbox_pb2 import Lane, Status
from tests.datasets import accepted_rows, rejected_rows, timing_rows, written
from tests.e2e.chromium import Page, chromium, needs_chromium
from tests.e2e.runs import SOLILOQUY, run
from tests.unit.dataset.labelled import labelled
from tests.unit.scripted.growing import grown

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="module")]

GROWN, COPIES = 12, 8
# In every text of one conversation: nothing of it may be taken for markup.
HOSTILE = "</script><img src=x onerror=\"window.harmed='yes'\"><b>&amp;</b>"
HIDDEN = "only_a_soliloquy_says_this"
PHONE = 360
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
    made.turns[0].student.rejected.add(text=f"{recipe} says 5 m.", because="That answers.")
    return made


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    async def all_of_them() -> list[Conversation]:
        return [await grown(ordinal, seed=11) for ordinal in range(GROWN)]

    made = asyncio.run(all_of_them())
    for conversation in made:
        for turn in conversation.turns:
            for attempt in turn.calculation.attempts:
                attempt.execution.lane = Lane.LANE_FAST
    return [copied(one, f"{copy:02x}{place:022x}") for copy in range(COPIES) for place, one in enumerate(made)]


@pytest.fixture(scope="module")
def calculated(conversations: list[Conversation]) -> Conversation:
    """One that has a program which found the student right."""
    found = next(c for c in conversations if any(turn.calculation.attempts for turn in c.turns))
    attempts = next(turn.calculation.attempts for turn in found.turns if turn.calculation.attempts)
    attempts[0].code += f"\n# {HIDDEN}"
    return found


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, conversations: list[Conversation], calculated: Conversation
) -> Path:
    assert calculated in conversations
    shards = [
        ("accepted/00000.parquet", accepted_rows([*conversations, hostile(calculated)])),
        *(
            (
                f"rejected/{number:05}.parquet",
                rejected_rows([(of_recipe(conversations[-1], recipe), [f"verdict: {HOSTILE}"])]),
            )
            for number, recipe in enumerate(ID_OF)
        ),
        ("timings/00000.parquet", timing_rows(conversations, begun=1_000, apart=0.5)),
    ]
    out = written(tmp_path_factory.mktemp("dataset"), shards)
    result = run([SOLILOQUY, "report", str(out)])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"The report:  {(out / 'report.html').as_uri()}\n"
    return out


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    async with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Page, folder: Path) -> AsyncIterator[Page]:
    """Opened anew on a wide screen; no test may leave a complaint or have asked for anything but the file."""
    browser.complaints.clear()
    browser.requests.clear()
    await browser.sized(1280, 800)
    await browser.coloured("light")
    await browser.open("about:blank")
    await browser.open((folder / "report.html").as_uri())
    await browser.until(READY)
    yield browser
    assert browser.complaints == []
    assert {address.partition("#")[0] for address in browser.requests} <= {
        "about:blank",
        (folder / "report.html").as_uri(),
    }


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


async def test_a_page_opens_with_what_the_dataset_comes_to(page: Page, conversations: list[Conversation]) -> None:
    strip = await page.evaluate("document.querySelector('.strip').innerText")
    assert f"{len(conversations) + 1}" in strip
    assert "/s" in strip
    plots = await page.evaluate("[...document.querySelectorAll('.plot h2')].map((title) => title.textContent)")
    assert {"Length", "Outcome", "Throughput", "Programs", "Time per program", "The model"} <= set(plots)
    assert await page.evaluate("document.querySelectorAll('svg.chart').length") == 4


@pytest.mark.parametrize("width", [PHONE, 768, 1280])
async def test_nothing_of_a_plot_is_cut_off(page: Page, width: int) -> None:
    await page.sized(width, 800)
    outside = """[...document.querySelectorAll('.plot')].flatMap((plot) => {
        const card = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('text, rect, li, td, th')].filter((part) => {
            const box = part.getBoundingClientRect();
            const [left, right, top, bottom] = [card.left, card.right + 0.5, card.top, card.bottom];
            return box.left < left || box.right > right || box.top < top || box.bottom > bottom;
        }).map((part) => part.outerHTML);
    })"""
    assert await page.evaluate(outside) == []


async def test_no_two_ticks_of_an_axis_touch(page: Page) -> None:
    await page.sized(PHONE, 800)
    touching = """[...document.querySelectorAll('svg.chart')].flatMap((chart) => {
        const texts = [...chart.querySelectorAll('text')];
        const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
        return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
            .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
            .map(([other]) => `${one} / ${other}`));
    })"""
    assert await page.evaluate(touching) == []


async def test_the_list_has_pages(page: Page, conversations: list[Conversation]) -> None:
    await listed(page)
    everyone = len(conversations) + 1 + len(ID_OF)
    assert await page.evaluate(COUNT) == everyone
    seen: list[str] = []
    for _ in range(everyone // 40):
        seen += await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash.slice(1))")
        await page.evaluate("document.getElementById('next').click()")
    seen += await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash.slice(1))")
    assert len(seen) == len(set(seen)) == everyone
    assert await page.evaluate("document.getElementById('next').disabled")


async def test_filters_narrow_together(page: Page, conversations: list[Conversation]) -> None:
    await listed(page)
    topic = conversations[0].problem.topic
    await chosen(page, "topic", topic)
    of_topic = [c for c in conversations if c.problem.topic == topic]
    rejected = len(ID_OF) if conversations[-1].problem.topic == topic else 0
    assert await page.evaluate(COUNT) == len(of_topic) + rejected
    await chosen(page, "outcome", "kept")
    await chosen(page, "program", "some")
    with_program = [c for c in of_topic if any(turn.HasField("calculation") for turn in c.turns)]
    assert await page.evaluate(COUNT) == len(with_program)
    await chosen(page, "student", with_program[0].persona)
    assert await page.evaluate(COUNT) == sum(c.persona == with_program[0].persona for c in with_program)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("outcome", "rejected (", [*ID_OF.values()]),
        ("outcome", "rejected: verdict", [*ID_OF.values()]),
        ("program", "one that failed", ["c0ffee"]),
    ],
)
async def test_a_filter_finds_those_it_is_for(page: Page, name: str, value: str, expected: list[str]) -> None:
    await listed(page)
    await chosen(page, name, value)
    links = await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash)")
    assert links == [f"#{one}" for one in expected]


async def test_a_filter_finds_what_was_drawn(
    page: Page, conversations: list[Conversation], calculated: Conversation
) -> None:
    # The last one is shown as markup.
    drawn = [
        {StudentLabels.FromString(turn.student.labels).strategy for turn in one.turns}
        for one in (*conversations, calculated)
    ]
    for strategy in set().union(*drawn) - {ErrorStrategy.ERROR_STRATEGY_UNSPECIFIED}:
        await listed(page)
        word = ErrorStrategy.Name(strategy).removeprefix("ERROR_STRATEGY_").lower().replace("_", " ")
        await chosen(page, "drawn", word)
        assert await page.evaluate(COUNT) == sum(strategy in found for found in drawn)
    for recipe, state in {"mathdial": "doubted", "scaffold": "confusion"}.items():
        await chosen(page, "drawn", state)
        links = await page.evaluate("[...document.querySelectorAll('#list a')].map((link) => link.hash)")
        assert links == [f"#{ID_OF[recipe]}"]


async def test_a_search_reads_every_text(page: Page, calculated: Conversation) -> None:
    await listed(page)
    assert await searched(page, HIDDEN) == 1
    assert await page.evaluate("document.querySelector('#list a').hash") == f"#{calculated.id}"
    assert await searched(page, calculated.id[:24]) == 1
    assert await searched(page, "no conversation says this") == 0
    assert "No conversation matches" in await page.evaluate("document.getElementById('list').textContent")
    await page.press("Escape")
    assert await page.evaluate(COUNT) > 1


async def test_a_link_opens_a_conversation_with_its_soliloquies_folded(page: Page, calculated: Conversation) -> None:
    await page.evaluate(f"location.hash = {calculated.id!r}")
    await page.until(f"document.querySelector('.id')?.textContent === {calculated.id!r}")
    said = await page.evaluate("[...document.querySelectorAll('.bubble')].map((bubble) => bubble.textContent)")
    assert said == [text for turn in calculated.turns for text in (turn.student.text, turn.tutor.text)]
    assert await page.evaluate("document.querySelectorAll('details.soliloquy').length") == len(calculated.turns)
    assert await page.evaluate("document.querySelectorAll('details.soliloquy[open]').length") == 0
    place = next(place for place, turn in enumerate(calculated.turns) if turn.calculation.attempts)
    turn = calculated.turns[place]
    await page.evaluate(f"document.querySelectorAll('details.soliloquy summary')[{place}].click()")
    shown = await page.evaluate("document.querySelector('details.soliloquy[open]').innerText")
    assert turn.tutor.thoughts in shown
    assert "computed again" in shown or turn.calculation.attempts[0].execution.values[0].name in shown
    [code] = await page.evaluate(
        "[...document.querySelectorAll('[open] pre.code code')].map((code) => code.textContent)"
    )
    assert code == turn.calculation.attempts[0].code + "\n"
    assert await page.evaluate("document.querySelectorAll('[open] pre.code .comment').length") >= 1
    labels = await page.evaluate("[...document.querySelectorAll('.hidden-label')].map((label) => label.textContent)")
    assert labels[0] == "opening"


@pytest.mark.parametrize(
    ("recipe", "part", "said"),
    [
        ("mathdial", "It falls 5 m + 5 m.", ["its wrong solution: doubted", "focus", "guide focus"]),
        ("mathwell", "solvable: no, says a rule: It asks nothing.", ["What the judges say"]),
        ("scaffold", "1. How far does it fall? 5 m", ["to show: confusion", "sub-question", "learner state"]),
    ],
)
async def test_what_only_some_recipes_have_is_shown_where_it_is(
    page: Page, recipe: str, part: str, said: list[str]
) -> None:
    await page.evaluate(f"location.hash = {ID_OF[recipe]!r}")
    await page.until(f"document.querySelector('.id')?.textContent === {ID_OF[recipe]!r}")
    await page.evaluate("document.querySelectorAll('#reader details').forEach((folded) => { folded.open = true; })")
    shown = await page.evaluate("document.getElementById('reader').innerText")
    for text in (part, *said, "1 message sent back before", f"{recipe} says 5 m.", "That answers."):
        assert text in shown
    assert await searched(page, part) == 1
    assert await searched(page, f"{recipe} says 5 m.") == 1
    assert await searched(page, "that answers") == len(ID_OF)


async def test_an_id_that_is_not_there_is_said_so(page: Page) -> None:
    await page.evaluate("location.hash = 'nobody'")
    await page.until("document.getElementById('reader').textContent.includes('No conversation nobody')")


async def test_the_keyboard_is_enough(page: Page) -> None:
    await page.press("/")
    await page.until("document.activeElement.id === 'search'")
    await page.press("Enter")
    await page.until(f"{FOCUSED} === '0'")
    for key, row in (("j", "1"), ("ArrowDown", "2"), ("k", "1"), ("ArrowUp", "0"), ("k", "0")):
        await page.press(key)
        await page.until(f"{FOCUSED} === {row!r} && location.hash.slice(1) === search.index.id[{row}]")
    await page.press("Enter")
    await page.until("document.activeElement.id === 'reader'")
    await page.press("s")
    assert await page.evaluate("document.querySelectorAll('details.soliloquy:not([open])').length") == 0
    await page.press("Escape")
    await page.until(f"{FOCUSED} === '0'")
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


async def test_moving_on_turns_the_page(page: Page) -> None:
    await listed(page)
    await page.evaluate("document.querySelectorAll('#list a')[39].focus()")
    await page.press("j")
    await page.until(f"{FOCUSED} === '40'")
    assert await page.evaluate("document.getElementById('page').textContent") == "2 / 3"


async def test_it_is_light_or_dark_as_the_system_or_its_reader_wants(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ground)
    await page.coloured("dark")
    dark = await page.evaluate(ground)
    assert light != dark
    await page.evaluate("document.getElementById('theme').click()")
    assert await page.evaluate(ground) == light
    await page.coloured("light")
    await page.evaluate("document.getElementById('theme').click()")
    assert await page.evaluate(ground) == dark
    await page.evaluate("localStorage.clear()")


async def test_nothing_is_wider_than_a_phone(page: Page, calculated: Conversation) -> None:
    await page.sized(PHONE, 740, mobile=True)
    too_wide = "document.documentElement.scrollWidth > innerWidth"
    for address in ("overview", "conversations", calculated.id, "c0ffee", *ID_OF.values()):
        await page.evaluate(f"location.hash = {address!r}")
        if len(address) == 24 or address == "c0ffee":
            await page.until(f"document.querySelector('.id')?.textContent === {address!r}")
            await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
        assert not await page.evaluate(too_wide), address
    assert await page.evaluate("document.querySelector('.finder').checkVisibility()") is False
    await page.evaluate("document.querySelector('.back').click()")
    await page.until("document.querySelector('.finder').checkVisibility()")


async def test_a_conversation_that_is_markup_does_nothing(page: Page) -> None:
    for address in ("overview", "conversations", *ID_OF.values(), "c0ffee"):
        await page.evaluate(f"location.hash = {address!r}")
    await page.until("document.querySelector('.id')?.textContent === 'c0ffee'")
    await page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
    assert await page.evaluate("document.querySelector('.about h2').textContent") == HOSTILE
    assert await page.evaluate("document.querySelector('.bubble').textContent") == HOSTILE
    assert await page.evaluate("document.querySelectorAll('img, .about b, .bubble b').length") == 0
    assert await page.evaluate("window.harmed === undefined")


async def test_a_file_that_was_cut_off_says_so(browser: Page, folder: Path, tmp_path: Path) -> None:
    whole = (folder / "report.html").read_text("utf-8")
    (tmp_path / "cut.html").write_text(whole.partition('<script type="text/plain" id="block-0"')[0], "utf-8")
    await browser.open((tmp_path / "cut.html").as_uri())
    await browser.evaluate("location.hash = 'conversations'")
    await browser.until("document.getElementById('reader').textContent.includes('was cut off')")
