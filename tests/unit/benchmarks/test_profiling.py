import subprocess
import sys
from pathlib import Path

from benchmarks.profiling import shares

_READS = """
import sys, threading
from pathlib import Path
from benchmarks.profiling import profile_process
from soliloquy.runtime.seeds import draw
from soliloquy.truth.quantities import quantities_in

profile_process(Path(sys.argv[1]))
reads = threading.Thread(target=lambda: [quantities_in(f"I get {number} m/s after 2.5 s.") for number in range(400)])
reads.start()
reads.join()
[draw(number) for number in range(40)]
"""


def test_a_library_counts_for_the_layer_that_calls_it_in_any_thread(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _READS, str(tmp_path)], check=True)
    found = shares(tmp_path.iterdir())
    assert found["rules"] > 0.8
    assert 0 < found["ask"] < 0.2
