"""Answers each prompt by rule, so that runs and tests need no language model."""

from random import Random

from socratic_debugging.prompting import Guidance
from soliloquy.recipes.scene import Scene, Speaker

_PROPOSALS = (
    "I think {change} would do it.",
    "Maybe I should write {change} instead.",
    "What if I change {change} and run it again?",
    "Then it must be {change}, I suppose.",
)
_QUESTIONS = {
    "output": "What does the program give when you run it, and how far is that from what you want?",
    "value": "Take the first two rounds by hand: which value does each name hold after them?",
    "line": "Which line decides what ends up in the result, and what does it do in the last round?",
    "purpose": "Say in your own words what each round has to achieve: does your program do just that?",
}


def student(scene: Scene, rng: Random) -> str:
    if change := scene.slot("change"):
        return rng.choice(_PROPOSALS).format(change=change)
    lead = rng.choice(("I wrote this program", "Here is my program", "This is what I have so far"))
    return f"{lead}. It goes through the numbers one by one, but what it gives is not what I want, and I see no reason."


def tutor(scene: Scene, rng: Random) -> str:
    said = set(scene.messages(student=False))
    if scene.output.get("is_right") == "True":
        text = "That is it: the program gives what you wanted. Well found!"
        return Guidance.written(thoughts="The change works.", evaluation="b", points_at="output", text=text)
    free = [name for name, text in _QUESTIONS.items() if text not in said]
    name = rng.choice(free or list(_QUESTIONS))
    return Guidance.written(
        thoughts=f"The program gives {scene.output.get('result')}; a look at it from another side may help.",
        evaluation="g" if not said else "a",
        points_at=name,
        text=_QUESTIONS[name],
    )


SPEAKERS: dict[str, Speaker] = {"debugging/student": student, "debugging/tutoring": tutor}
