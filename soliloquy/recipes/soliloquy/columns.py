"""How the recipe's labels are shown, and their keys in the paper's JSON."""

from soliloquy.recipes.labels import Column
from soliloquy.recipes.soliloquy.codes import WORDS

COLUMNS = {
    "student.strategy": Column(title="mistake", heading="How it is wrong", drawn="meant wrong: {}", misconception=True),
    "student.misconception.because": Column(title="misconception", misconception=True),
    "tutor.thoughts": Column(title="thoughts", key="Thoughts of Tutorbot"),
    "tutor.evaluation": Column(title="evaluation", key="Evaluation of Student Response"),
    "tutor.action": Column(title="action", key="Action Based on Evaluation", words=WORDS["actions"], response=True),
    "tutor.step": Column(title="step", key="Step Number"),
    "tutor.state": Column(
        title="state",
        heading="What becomes of the step",
        key="Step State",
        codes={"not applicable": "p", "in progress": "q", "finished": "r", "all finished": "t"},
    ),
    "tutor.text": Column(title="reply", key="Tutorbot Response"),
}
