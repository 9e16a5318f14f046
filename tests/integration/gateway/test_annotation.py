"""Annotation: each item gets its annotations from people who do not see each other's, and none is lost."""

import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from soliloquy.annotation.report import agreement
from soliloquy.annotation.rows import Annotation
from soliloquy.annotation.scheme import scheme_of
from soliloquy_services.gateway import database
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.tokens import TokenFile
from soliloquy_services.gateway.annotation.messages import AddAnnotation
from soliloquy_services.gateway.annotation.store import Annotations
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.site import OPERATOR, READER, ROOMY, Site, site
from tests.unit.gateway.tokens import entry, written
from tests.waiting import until

SCHEME = scheme_of("mathwell")
GOOD = {"solvable": "yes", "accurate": "yes", "appropriate": "yes"}
BAD = GOOD | {"accurate": "no"}
ADA, BEN = "ada's", "ben's"


def tasks(count: int) -> list[dict[str, Any]]:
    return [{"item": f"i{number}", "shown": {"question": f"How much is {number} + 1?"}} for number in range(count)]


def project(name: str = "Problems", count: int = 4, **differing: Any) -> AddAnnotation:
    return AddAnnotation.model_validate({"name": name, "scheme": "mathwell", "tasks": tasks(count), **differing})


@pytest.fixture
def annotations(settings: GatewaySettings) -> Iterator[Annotations]:
    database = Database(settings.database)
    database.open()
    yield Annotations(database)
    database.close()


def test_a_database_of_before_keeps_its_people_and_counts_their_annotations(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(database, "MIGRATIONS", database.MIGRATIONS[:7])
        former = Database(settings.database)
        former.open()
        with former.writing() as connection:
            for number in range(2):
                item = {"project": "p", "item": f"i{number}", "place": number, "shown": "{}", "gold": ""}
                connection.execute(former["annotation_items"].insert().values(item))
            said = {"project": "p", "item": "i1", "annotator": "ada"}
            given = {"round": "annotation", "given": "{}", "seconds": 1.0, "at": 1.0}
            connection.execute(former["annotations"].insert().values(said | given))
            connection.execute(former["annotation_leases"].insert().values(said | {"until": 9.0}))
            joined = {"project": "p", "annotator": "ada", "pseudonym": "A1", "consented": 5.0}
            connection.execute(former["annotators"].insert().values(joined))
            teacher = {"project": "t", "teacher": "ben", "pseudonym": "T1"}
            connection.execute(former["teachers"].insert().values(teacher))
        former.close()
    later = Database(settings.database)
    later.open()
    with later.reading() as connection:
        people = {tuple(row)[:3] for row in connection.execute(later["participants"].select())}
        times = {row.item: row.times for row in connection.execute(later["annotation_items"].select())}
        [lease] = connection.execute(later["annotation_leases"].select())
    later.close()
    assert people == {("p", "ada", "A1"), ("t", "ben", "T1")}
    assert (times, lease.until) == ({"i0": 0, "i1": 1}, 0)


def judge_all(annotations: Annotations, key: str, name: str, values: dict[str, Any] = GOOD) -> list[str]:
    seen = []
    while given := annotations.next(key, "", name):
        annotations.annotate(key, "", name, given.item, values, 1.0)
        seen.append(given.item)
    return seen


def test_each_item_gets_as_many_annotators_as_it_wants_and_nobody_sees_one_twice(annotations: Annotations) -> None:
    key = annotations.add(project(count=6), SCHEME, "")
    assert annotations.add(project(count=6), SCHEME, "") == key
    seen = {name: judge_all(annotations, key, name) for name in ("ada", "ben", "eve")}
    assert [len(items) for items in seen.values()] == [6, 6, 0]
    assert len({*seen["ada"]}) == 6
    told = annotations.project(key, "", "ada")
    assert (told.items, told.complete, told.own) == (6, 6, 6)


def test_what_one_holds_no_third_gets_and_a_reload_gives_it_again(annotations: Annotations) -> None:
    key = annotations.add(project(count=1), SCHEME, "")
    first, again = annotations.next(key, "", "ada"), annotations.next(key, "", "ada")
    assert first == again
    assert annotations.next(key, "", "ben")
    assert annotations.next(key, "", "eve") is None


def test_an_undone_annotation_is_before_its_annotator_again_with_what_it_said(annotations: Annotations) -> None:
    key = annotations.add(project(count=3), SCHEME, "")
    said = []
    for values in (GOOD, BAD):
        item = annotations.next(key, "", "ada")
        assert item
        annotations.annotate(key, "", "ada", item.item, values, 1.0)
        said.append(item.item)
    annotations.next(key, "", "ada")
    undone = annotations.undo(key, "", "ada")
    assert undone
    assert (undone.item, undone.values, undone.own) == (said[-1], BAD, 1)
    assert annotations.next(key, "", "ada") == undone.model_copy(update={"values": {}})
    assert annotations.undo(key, "", "ben") is None


def test_disputed_items_are_decided_and_the_rows_tell_agreement_under_pseudonyms(annotations: Annotations) -> None:
    key = annotations.add(project(count=4), SCHEME, "")
    judge_all(annotations, key, "ada@school.example")
    judge_all(annotations, key, "ben@school.example", BAD)
    decided = 0
    while dispute := annotations.disputed(key, ""):
        assert dispute.given == {"A1": GOOD, "A2": BAD}
        assert dispute.left == 4 - decided
        annotations.decide(key, "", "zoe@school.example", dispute.item, GOOD, 2.0)
        decided += 1
    assert decided == 4
    told = annotations.rows(key, "").annotations
    assert {row.annotator for row in told} == {"A1", "A2", "A3"}
    assert "school" not in json.dumps([row.model_dump() for row in told])
    rows = [Annotation.model_validate(row.model_dump()) for row in told]
    assert agreement(rows, SCHEME)["questions"]["accurate"]["observed"]["value"] == 0


def test_everybody_gets_the_items_whose_values_are_known_and_is_measured_by_them(annotations: Annotations) -> None:
    known = [{**task, "gold": GOOD} for task in tasks(2)]
    key = annotations.add(project(tasks=known, annotators_per_item=1), SCHEME, "")
    for name, values in (("ada", GOOD), ("ben", BAD)):
        assert len(judge_all(annotations, key, name, values)) == 2
    assert annotations.rows(key, "").gold == {"A1": 1.0, "A2": pytest.approx(2 / 3)}


def test_nobody_annotates_before_agreeing_and_who_leaves_takes_all_words_along(annotations: Annotations) -> None:
    key = annotations.add(project(consent="We keep what you say for a study."), SCHEME, "")
    with pytest.raises(Refusal, match="have not agreed"):
        annotations.next(key, "", "ada")
    annotations.consent(key, "", "ada")
    judge_all(annotations, key, "ada")
    assert annotations.forget("ada", "") == 4
    assert not annotations.rows(key, "").annotations
    assert not annotations.project(key, "", "ada").consented
    assert annotations.project(key, "", "ada").own == 0


def test_bad_values_strange_items_and_other_tenants_are_refused(annotations: Annotations) -> None:
    key = annotations.add(project(), SCHEME, "lab")
    item = annotations.next(key, "lab", "ada")
    assert item
    with pytest.raises(Refusal, match="accurate: 'perhaps' is not one of yes, no"):
        annotations.annotate(key, "lab", "ada", item.item, GOOD | {"accurate": "perhaps"}, 0.0)
    with pytest.raises(Refusal, match="has no item 'i99'"):
        annotations.annotate(key, "lab", "ada", "i99", GOOD, 0.0)
    with pytest.raises(Refusal, match="is not before this annotator"):
        annotations.annotate(key, "lab", "ben", item.item, GOOD, 0.0)
    with pytest.raises(Refusal, match="there is no annotation project"):
        annotations.next(key, "school", "ada")
    assert annotations.projects("school", "ada") == []


def test_fifty_annotators_at_once_lose_no_annotation_and_exceed_no_item(annotations: Annotations) -> None:
    key = annotations.add(project(count=40, annotators_per_item=3), SCHEME, "")
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda number: judge_all(annotations, key, f"p{number}"), range(50)))
    assert sum(map(len, seen)) == 120
    rows = annotations.rows(key, "").annotations
    assert len({(row.item, row.annotator) for row in rows}) == 120


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway with two annotators, a reader and an operator."""
    tokens = (("ada", "annotator", ADA), ("ben", "annotator", BEN), ("rita", "reader", READER))
    file = written(tmp_path, *(entry(*one) for one in tokens), entry("olga", "operator", OPERATOR))
    limits = dict.fromkeys(("calls", "steering", "strangers", "visitors"), ROOMY)
    database = f"sqlite:///{tmp_path}/state.db"
    async with site(tmp_path, admitting=Access(TokenFile(file), limits=limits), database=database) as opened:
        yield opened


async def test_an_annotator_annotates_and_reaches_nothing_else(people: Site) -> None:
    asked = project(count=2, consent="We keep what you say for a study.").model_dump()
    added = await people.ask("POST", "/v1/annotation/projects", asked, token=OPERATOR)
    assert added.status == 201, added.body
    place = f"/v1/annotation/projects/{added.body['id']}"
    for token in (ADA, BEN):
        await people.ask("POST", f"{place}/consent", {}, token=token)
        item = (await people.ask("POST", f"{place}/next", token=token)).body
        while item["item"]:
            assert {*item} == {"item", "shown", "values", "own", "items"}
            said = {"item": item["item"], "values": GOOD, "seconds": 2.5}
            item = (await people.ask("POST", f"{place}/annotations", said, token=token)).body
    [listed] = (await people.ask("GET", "/v1/annotation/projects", token=ADA)).body["projects"]
    assert (listed["complete"], listed["own"]) == (2, 2)
    for method, path in (
        ("GET", "/v1/runs"),
        ("GET", f"{place}/annotations"),
        ("GET", f"{place}/disputed"),
        ("POST", "/v1/problems"),
    ):
        refused = await people.ask(method, path, {} if method == "POST" else None, token=ADA)
        assert (refused.status, refused.code) == (403, "denied"), path
    rows = (await people.ask("GET", f"{place}/annotations", token=OPERATOR)).body["annotations"]
    assert {(row["item"], row["annotator"]) for row in rows} == {(i, a) for i in ("i0", "i1") for a in ("A1", "A2")}
    forgotten = await people.ask("DELETE", "/v1/annotation/annotators/ada", token=OPERATOR)
    assert forgotten.body == {"annotations": 2}
    joined, gone = ("ConsentToAnnotation", added.body["id"]), ("ForgetAnnotator", "ada")

    async def are_audited() -> bool:
        calls = (await people.ask("GET", "/v1/audit", token=OPERATOR)).body["calls"]
        told = {(call["who"], call["what"], call["target"]) for call in calls if call["outcome"] == "done"}
        return told >= {("ada", *joined), ("ben", *joined), ("olga", *gone)}

    await until(are_audited)


async def test_a_gateway_whose_database_is_temporary_takes_no_project(tmp_path: Path) -> None:
    async with site(tmp_path) as opened:
        refused = await opened.ask("POST", "/v1/annotation/projects", project().model_dump())
        assert (refused.status, refused.message) == (
            409,
            "this gateway forgets annotations when it stops: start it with --database URL",
        )


async def test_what_no_scheme_or_project_knows_is_told(people: Site) -> None:
    for body, told in (
        ({"scheme": "mathwel"}, "scheme: there is no 'mathwel'"),
        ({"tasks": [*tasks(1), *tasks(1)]}, "two have the same item"),
        ({"tasks": [{**tasks(1)[0], "gold": {"accurate": "yes"}}]}, "solvable: is missing"),
    ):
        asked = project().model_dump() | body
        refused = await people.ask("POST", "/v1/annotation/projects", asked, token=OPERATOR)
        assert refused.status == 400
        assert told in refused.message
    missing = await people.ask("POST", "/v1/annotation/projects/none/next", token=ADA)
    assert (missing.status, missing.code) == (404, "unknown")
