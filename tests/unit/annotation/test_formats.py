"""Annotations go to Label Studio and Argilla and come back without loss."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from soliloquy.annotation.formats import FORMATS, label_studio_config, read_foreign
from soliloquy.annotation.rows import Annotation, read_annotations
from soliloquy.annotation.scheme import Scheme, schemes
from soliloquy.annotation.tasks import tasks
from soliloquy.cli.main import commands
from soliloquy.runtime.failure import Failure
from tests.unit.training.growing import conversations

KINDS = Scheme.model_validate(
    {
        "name": "all_kinds",
        "title": "All kinds",
        "unit": "turn",
        "guide": "Look.",
        "questions": [
            {
                "name": "one",
                "title": "1",
                "asks": "a < b?",
                "kind": "label",
                "labels": [{"name": "yes", "title": "Yes"}],
            },
            {
                "name": "some",
                "title": "2",
                "asks": "Which?",
                "kind": "label",
                "several": True,
                "labels": [{"name": "x", "title": "X"}, {"name": "y", "title": "Y"}],
            },
            {"name": "how", "title": "3", "asks": "How much?", "kind": "scale"},
            {"name": "where", "title": "4", "asks": "?", "kind": "span", "labels": [{"name": "bad", "title": "Bad"}]},
            {"name": "why", "title": "5", "asks": "Why?", "kind": "text", "required": False},
        ],
    }
)
VALUES: dict[str, Any] = {
    "one": "yes",
    "some": ["x", "y"],
    "how": 4,
    "where": [{"start": 2, "end": 9, "label": "bad"}],
    "why": "two\nlines",
}
DRAWN = tasks(conversations(2), "turn", count=3, by="random", seed=1)
SHOWN = {task["item"]: task["shown"] for task in DRAWN}


@pytest.mark.parametrize("name", FORMATS)
def test_annotations_of_every_kind_come_back_as_they_went(name: str) -> None:
    given = [
        Annotation(item=item, annotator=who, scheme="all_kinds", values=VALUES, seconds=2.5, at=1_800_000_000.0)
        for item in SHOWN
        for who in ("ada", "ben")
    ]
    rows = json.loads(json.dumps(FORMATS[name].write(SHOWN, given, KINDS)))
    found = read_foreign(rows, KINDS, name)
    # Argilla tells neither time nor duration.
    lost = {"seconds": 0.0, "at": 0.0} if name == "argilla" else {}
    assert found == [one.model_copy(update=lost) for one in given]


def test_the_interface_of_each_scheme_asks_all_of_its_questions() -> None:
    for scheme in (KINDS, *schemes().values()):
        made = ElementTree.fromstring(label_studio_config(scheme))
        assert [one.get("name") for one in made if one.get("toName")] == [one.name for one in scheme.questions]


def test_commands_write_tasks_and_read_what_people_said(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in DRAWN), "utf-8")
    out, named = tmp_path / "studio.json", ("--scheme", "soliloquy", "--format", "label-studio")
    run = CliRunner().invoke
    written = run(commands, ["annotations", "export", str(tmp_path / "tasks.jsonl"), *named, "--out", str(out)])
    assert written.output == f"3 tasks in {out}\n"
    exported = json.loads(out.read_text("utf-8"))
    assert "Tutor: " in exported[0]["data"]["text"]
    said = {"usage": "yes", "non_usage": "none", "compilation": "yes", "verification": "no"}
    results = [
        {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [value]}}
        for name, value in said.items()
    ]
    exported[0]["annotations"] = [{"completed_by": 7, "result": results, "lead_time": 9.5}]
    out.write_text(json.dumps(exported), "utf-8")
    back = tmp_path / "back.jsonl"
    read = run(commands, ["annotations", "import", str(out), *named, "--out", str(back)])
    assert read.output == f"1 annotations in {back}\n"
    [one] = read_annotations(back)
    assert (one.annotator, one.values, one.seconds) == ("7", said, 9.5)


def test_a_file_of_something_else_is_named() -> None:
    with pytest.raises(Failure, match="this is no export of argilla for the scheme all_kinds"):
        read_foreign([{"data": {}}], KINDS, "argilla")
    with pytest.raises(Failure, match="1 by ada: some: is missing"):
        read_foreign([{"id": 1, "responses": {"one": [{"value": "yes", "user_id": "ada"}]}}], KINDS, "argilla")
