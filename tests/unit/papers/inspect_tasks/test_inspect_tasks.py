"""Inspect runs our protocols with its own models, and comes to the figures of `soliloquy evaluate`."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.e2e.hosted import speaking
from tests.e2e.runs import SOLILOQUY, said
from tests.tools import needs_tools, told
from tests.unit.papers.inspect_tasks.tutor import answer

REPOSITORY = Path(__file__).parents[4]
RUN = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from soliloquy_papers import inspect_tasks
from tests.unit.papers.inspect_tasks.tutor import answer

def output(said, *_):
    made = ModelOutput.from_content("tutor", answer("\\n".join(message.text for message in said)))
    # Tokens would be counted by a vocabulary from elsewhere.
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made

task = getattr(inspect_tasks, sys.argv[1])(**json.loads(sys.argv[2]))
model = get_model("mockllm/tutor", custom_outputs=output)
[log] = eval(task, model=model, log_dir=sys.argv[3], display="none")
assert log.status == "success", log.error
figures = {score.name: {name: one.value for name, one in score.metrics.items()} for score in log.results.scores}
print(json.dumps([len(log.samples), figures]))
"""
OPTIONS = {
    "soliloquy": {"questions": 6},
    "mathdial": {"dialogues": 4},
    "scaffold": {"dialogues": 2, "segments": 4, "tries": 1},
}


@needs_tools
@pytest.mark.thorough
@pytest.mark.parametrize("protocol", OPTIONS)
def test_inspect_comes_to_the_figures_of_the_command_to_the_last_digit(protocol: str, tmp_path: Path) -> None:
    options = {**OPTIONS[protocol], "seed": 9}
    paths = [str(REPOSITORY), *(one for one in sys.path if one.endswith("site-packages"))]
    environment = {"PYTHONPATH": os.pathsep.join(paths)}
    samples, found = told(RUN, protocol, json.dumps(options), tmp_path / "log", environment=environment)
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    with speaking(answer) as url:
        tutor = ("--model", "openai", "--base-url", url, "--model-name", "tutor")
        result = said([SOLILOQUY, "evaluate", protocol, *given, *tutor, "--out", str(tmp_path / "out"), "--json"])
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert samples == (tmp_path / "out" / "cases.jsonl").read_text("utf-8").count("\n")
    shares = {name: share for name, share in report["figures"]["metrics"].items() if name in found and share["of"]}
    assert shares
    assert {name: found[name] for name in shares} == {
        name: {part: share[part] for part in ("share", "low", "high")} for name, share in shares.items()
    }
    # This tutor is read by one of the recipes only.
    assert protocol != "soliloquy" or 0 < shares["usage"]["share"] < 1
