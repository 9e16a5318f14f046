"""Writes an evaluation as a log of Inspect, for `inspect view` and its Python API: a zip file of JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from soliloquy.runtime.distribution import NAME, installed_version
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import digest

_ROLES = {"student": "user", "tutor": "assistant"}


def write_log(path: Path, report: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes a sample for each case, scored by the metrics that apply to it."""
    # Inspect tells the repetitions of a sample apart by their epoch.
    epochs: Counter[str] = Counter()
    with atomic_file(path) as file, ZipFile(file, "w", ZIP_DEFLATED) as log:
        summaries = []
        for row in rows:
            epochs[row["case"]] += 1
            summary = {
                "id": row["case"],
                "epoch": epochs[row["case"]],
                "input": row.get("question") or row.get("problem", ""),
                "target": "",
                # Not as right or wrong: of a metric such as telling, fewer is better.
                "scores": {metric: {"value": int(passed)} for metric, passed in row["passed"].items()},
            }
            summaries.append(summary)
            sample = summary | {"messages": list(_messages(row)), "metadata": row}
            log.writestr(f"samples/{summary['id']}_epoch_{summary['epoch']}.json", json.dumps(sample))
        log.writestr("summaries.json", json.dumps(summaries))
        log.writestr("header.json", json.dumps(_header(report, list(epochs), len(rows))))


def _header(report: Mapping[str, Any], ids: Sequence[str], samples: int) -> dict[str, Any]:
    written = datetime.now(UTC).isoformat(timespec="seconds")
    figures, evaluation = report["figures"], digest(report["cases"]["sha256"], report["name"])
    shares = {name: share["share"] for name, share in figures["metrics"].items()}
    values = {name: value for name, value in {**shares, **figures.get("measures", {})}.items() if value is not None}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            **dict.fromkeys(("eval_id", "run_id", "task_id"), evaluation),
            "created": written,
            "task": report["protocol"],
            "dataset": {"name": report["cases"]["put"], "samples": samples, "sample_ids": ids},
            "model": report["name"],
            "config": {},
            "packages": {NAME: installed_version()},
            "metadata": report,
        },
        "plan": {},
        "results": {
            "total_samples": samples,
            "completed_samples": samples,
            "scores": [
                {"name": name, "scorer": name, "metrics": {"mean": {"name": "mean", "value": value}}}
                for name, value in values.items()
            ],
        },
        # Without both, the viewer shows a duration of NaN days.
        "stats": {"started_at": written, "completed_at": written},
    }


def _messages(row: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yields what was said: in a whole dialogue, in rounds, or in one exchange."""
    told = row.get("messages") or [
        {"speaker": speaker, "text": said[speaker]}
        for said in row.get("rounds") or [{"student": row.get("student"), "tutor": row.get("reply")}]
        for speaker in _ROLES
        if said[speaker]
    ]
    for message in told:
        yield {"role": _ROLES[message["speaker"]], "content": message["text"]}
