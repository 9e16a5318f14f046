"""Imports sources larger than memory: gigabytes need no more of it than megabytes."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.large import WRITERS, peak_of_import

# The source and the imported file are on the disk at the same time.
GIB = float(os.environ.get("LARGE_FILE_GIB", "5"))
MIB = 1024 * 1024
# The variation between imports of one Parquet file, whatever its size: 176 to 206 MiB.
NOISE_KIB = 32 * 1024


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ending", WRITERS)
def test_memory_does_not_grow_with_a_source(tmp_path: Path, ending: str) -> None:
    peaks = []
    # All formats share their code after the reader, so one of them shows it at full size.
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
