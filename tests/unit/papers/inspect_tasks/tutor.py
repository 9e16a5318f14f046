"""A tutor that is right about half of the time, and always in the same way; Inspect's own environment imports it."""

import json
from zlib import crc32

_REPLY = {
    "Thoughts of Tutorbot": "I look at it.",
    "Step Number": "1",
    "Step State": "q",
    "Tutorbot Response": "What would you do next?",
    "Results Told": [],
}
_JUDGED = (
    {"Evaluation of Student Response": "a", "Action Based on Evaluation": "1"},
    {"Evaluation of Student Response": "b", "Action Based on Evaluation": "3"},
)
_PROGRAM = {"Python Code": "```python\nx = 5\n```", "Result Variable": "x"}


def answer(prompt: str) -> str:
    chance = crc32(prompt.encode()) % 2
    if "Tutorbot Response" in prompt:
        return json.dumps(_REPLY | _JUDGED[chance])
    if "Python Code" in prompt:
        return json.dumps(_PROGRAM)
    return json.dumps({"Use Python": "yn"[chance], "Description": "Work it out."})
