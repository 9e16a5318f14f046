"""No text of others controls the terminal, and none ends a command that the terminal cannot show."""

import io
import sys
import unicodedata

import pytest
from rich.panel import Panel
from rich.table import Table

from soliloquy.cli.main import main
from soliloquy.cli.terminal import echo, escape_unprintable, open_console

CONTROLS = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cf")]
HARMLESS = "\n\t\u200c\u200d"
# Rich ends lines, and pads cells where a text has a tab.
LEFT = {*HARMLESS}


def shown_controls(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs")} - LEFT


@pytest.mark.parametrize("err", [False, True])
def test_no_control_character_reaches_the_terminal_by_a_line(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    for control in CONTROLS:
        echo(f"a{control}b", err=err)
    printed = capsys.readouterr()[err]
    assert shown_controls(printed) == set()
    assert r"a\x1bb" in printed


@pytest.mark.parametrize("wrapped", [str, Panel, lambda text: Panel("text", title=text), "table"])
def test_no_control_character_reaches_the_terminal_by_a_table(wrapped: object) -> None:
    stream = io.StringIO()
    console = open_console(file=stream, width=100, force_terminal=False)
    for control in CONTROLS:
        if wrapped == "table":
            table = Table(f"head{control}")
            table.add_row(f"[red]cell{control}[/]")
            console.print(table)
        else:
            assert callable(wrapped)
            console.print(wrapped(f"a{control}b"))
    assert shown_controls(stream.getvalue()) == set()
    assert wrapped != "table" or "[red]cell" in stream.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [["sh\x1b[2Jow"], ["show", "--\x1b[2J"], ["show", "/nowhere/\x1b]0;title\x07"], ["runs", "show", "\x9b2J"]],
)
def test_a_wrong_usage_shows_the_control_characters_of_its_words(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["soliloquy", *arguments])
    with pytest.raises(SystemExit):
        main()
    printed = "".join(capsys.readouterr())
    assert shown_controls(printed) == set()


def test_a_terminal_of_another_encoding_shows_what_it_cannot_print(monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(held, encoding="ascii"))
    escape_unprintable()
    # Click takes ASCII for a mistake, and writes UTF-8.
    echo("a lone \ud800")
    open_console().print("½ of 中")
    sys.stdout.flush()
    assert held.getvalue() == b"a lone \\ud800\n\\xbd of \\u4e2d\n"
