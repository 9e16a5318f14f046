"""The example on the page of the gym works as it stands."""

import re
import subprocess
import sys
from pathlib import Path

from soliloquy.gym.rewards import WEIGHTS
from tests.integration.executor.support import needs_runsc

PAGE = Path(__file__).parents[3] / "docs" / "gym.md"


@needs_runsc
def test_the_episode_of_the_page_is_played_and_judged() -> None:
    program = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("soliloquy/deciding ")
    assert [line.split()[0] for line in lines if line.split()[0] in WEIGHTS] == [
        name for name in WEIGHTS if name != "judge"
    ]


def test_the_page_tells_the_weight_of_each_component() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {name: float(weight) for name, weight in rows} == WEIGHTS
