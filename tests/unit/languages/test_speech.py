"""What German models put around the words of a student or a tutor is cut, and a refusal is known."""

import pytest

from soliloquy.recipes.speech import cleaned
from soliloquy.runtime.answers import is_refusal


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Schüler: Ich komme auf 3,5 km.", "student"),
        ("Hier ist die nächste Nachricht des Schülers:\n\nIch komme auf 3,5 km.", "student"),
        ("*denkt nach* Ich komme auf 3,5 km.", "student"),
        ("Gerne! Hier ist meine Antwort:\n\nIch komme auf 3,5 km.", "tutor"),
    ],
)
def test_only_what_is_said_remains(text: str, speaker: str) -> None:
    assert cleaned(text, speaker).text == "Ich komme auf 3,5 km."


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("Es tut mir leid, aber dabei kann ich nicht helfen.", True),
        ("Als KI kann ich keine Schülerin spielen.", True),
        ("Ich kann die Frage nicht beantworten, mir fehlt die Zeit.", False),
    ],
)
def test_a_refusal_is_no_message(text: str, *, refuses: bool) -> None:
    assert is_refusal(text) is refuses
