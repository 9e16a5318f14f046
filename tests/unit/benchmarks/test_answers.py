"""What a run recorded is read again, and what would be asked for again is counted by prompt."""

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.answers import answers
from soliloquy.runtime.model.recording import Recording
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


def test_recorded_answers_are_counted_by_prompt_with_every_sample(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    kept = {
        "scaffold/judging": ['{"Reason": "It is fine.", "Decision": "keep"}'],
        "mathdial/deciding": ["I would say yes."],
        "mathdial/solving": ["6 * 7 = 42\n#### 42", "6 + 7 = 13\n#### 13"],
    }
    for place, (prompt, (first, *more)) in enumerate(kept.items()):
        answer = Completion(text=first, more=[Completion(text=text) for text in more])
        recording.keep(f"{place:032x}", GenerateRequest(prompt=prompt), answer)
    recording.close()
    told = CliRunner().invoke(answers, [str(tmp_path), "--json"])
    assert json.loads(told.stdout) == {
        "scaffold/judging": {"answers": 1, "read": 1, "exactly as asked": 1},
        "mathdial/deciding": {"answers": 1, "asked for again": 1},
        "mathdial/solving": {"answers": 2, "read": 2, "exactly as asked": 2},
    }
