"""Sources larger than any memory: an import of gigabytes needs no more of it than one of megabytes."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.large import WRITERS, peak_of_import

# The source and what is made of it are on the disk at once.
GIB = float(os.environ.get("LARGE_FILE_GIB", "5"))
MIB = 1024 * 1024
# What one run's memory differs from another's.
NOISE_KIB = 16 * 1024


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ending", WRITERS)
def test_memory_does_not_grow_with_a_source(tmp_path: Path, ending: str) -> None:
    peaks = []
    # The formats are much alike behind the first of them, which shows it at full size.
    share = 1.0 if ending == ".jsonl" else 0.2
    for size in (128 * MIB, int(share * GIB * 1024 * MIB)):
        source = tmp_path / f"theirs{ending}"
        WRITERS[ending](source, size)
        peak, result = peak_of_import(source, "mathdial")
        counts = json.loads(result.stdout.splitlines()[0])
        assert counts["written"] == counts["read"] > 0
        assert result.stderr == ""
        peaks.append(peak)
        print(f"{ending}: {source.stat().st_size / MIB:,.0f} MiB on the disk, at most {peak / 1024:.0f} MiB of memory")
        source.with_name("mine.jsonl").unlink()
        source.unlink()
    assert peaks[1] < peaks[0] + NOISE_KIB
