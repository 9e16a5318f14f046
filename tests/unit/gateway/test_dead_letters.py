import pytest

from services.gateway.dead_letters import cause_of


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("OSError: no route to 10.0.0.7:8000", "OSError: no route to …"),
        ("Refused: problem 4 breaks whatever touches it", "Refused: problem … breaks whatever touches it"),
        ("conversation 0ce0077b6b4514d628209771-dade1803 is lost", "conversation … is lost"),
        ("a deadbeef is no number\nTraceback 1", "a deadbeef is no number"),
        ("waited 1,200.5 s", "waited … s"),
        ("x" * 300, "x" * 200),
        ("", ""),
    ],
)
def test_a_cause_is_the_first_line_without_what_differs_between_letters(error: str, cause: str) -> None:
    assert cause_of(error) == cause
