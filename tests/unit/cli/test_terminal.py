"""No text of others commands the terminal, whichever command prints it."""

import asyncio
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.dead_letters import dlq
from soliloquy.cli.problems.show import show
from soliloquy.cli.runs_view import print_status, to_json
from soliloquy.cli.tail import _json, _line
from soliloquy.cli.visible import json_line, visible
from soliloquy.runs.installation import LOG
from soliloquy.runtime.events import Event
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.v1.events_pb2 import StudentReplied
from soliloquy.v1.gateway_pb2 import RunStatus
from tests.unit.recipes.conversations import sound_conversation

CONTROLS = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs")]
JOINERS = "\n\t\u200c\u200d"
# A screen cleared, a title, a link, C1's own introducers, and marks of direction.
COMMANDS = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x\x1b\\\x9b31m\x9d0;x\x9c\x90q\u202etxet\u2066\r\x08"


def controls(text: str) -> list[str]:
    return [character for character in text if character in CONTROLS and character not in JOINERS]


def test_every_control_character_is_shown() -> None:
    assert not controls(visible("".join(CONTROLS)))


def test_json_without_control_characters_says_the_same() -> None:
    text = "".join(CONTROLS)
    assert not controls(json_line({text: text}))
    assert json.loads(json_line({text: text})) == json.loads(json.dumps({text: text}))


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_problem_commands_nothing(tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "mine.jsonl"
    row = {"question": f"{COMMANDS} What is 2 + 2?", "solution": f"Step 1) {COMMANDS} Add: 2 + 2 = 4"}
    file.write_text(json.dumps(row), "utf-8")
    shown = CliRunner().invoke(show, [f"{file}:1", *options])
    assert shown.exit_code == 0, shown.output
    assert "owned" in shown.output
    assert not controls(shown.output)


def test_a_run_commands_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status = RunStatus(name=COMMANDS, because=COMMANDS, model=COMMANDS, requested_by=COMMANDS)
    print_status(status)
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert not controls(shown)
    assert not controls(to_json(status))


def test_a_followed_conversation_commands_nothing() -> None:
    hostile = sound_conversation()
    hostile.id = hostile.problem.topic = hostile.problem.question = COMMANDS
    assert not controls(visible(_line(hostile)))
    assert not controls(_json("0:1", hostile))


@pytest.mark.parametrize("command", [["list", "FOLDER"], ["show", "FOLDER", "one"]])
def test_a_dead_letter_commands_nothing(tmp_path: Path, command: list[str]) -> None:
    hostile = sound_conversation()
    hostile.problem.question = COMMANDS
    values: dict[str, Any] = {"id": "one", "key": "k", "source": "tutor", "time": 0.0, "error": COMMANDS}
    letter = Event(
        topic=f"{TOPIC_OF[StudentReplied].name}.dlq",
        payload=StudentReplied(conversation=hostile).SerializeToString(),
        **values,
    )

    (tmp_path / LOG).parent.mkdir()

    async def park() -> None:
        async with EmbeddedTransport(tmp_path / LOG) as transport:
            await transport.publish([letter])

    asyncio.run(park())
    shown = CliRunner().invoke(dlq, [str(tmp_path) if word == "FOLDER" else word for word in command])
    assert shown.exit_code == 0, shown.output
    assert "owned" in shown.output
    assert not controls(shown.output)
