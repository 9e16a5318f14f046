"""Curator: a pass over all conversations for each answer. Each pass keeps its answers for a second start."""

from typing import Any

from bespokelabs import curator

from benchmarks.peers.asking import MODEL, ROLES, Job, measured, prompt

_UNLIMITED = 100_000_000


class Speaker(curator.LLM):  # type: ignore[misc]
    def __init__(self, place: int, job: Job) -> None:
        self._place = place
        limits = {"max_requests_per_minute": _UNLIMITED, "max_tokens_per_minute": _UNLIMITED}
        where = {"base_url": job.url, "max_concurrent_requests": job.at_once, **limits}
        super().__init__(model_name=MODEL, backend="openai", backend_params=where)

    def prompt(self, row: dict[str, Any]) -> str:
        return prompt(self._place, row["number"], row["said"])

    def parse(self, row: dict[str, Any], answer: str) -> dict[str, Any]:
        return {"number": row["number"], "said": answer}


def generate(job: Job) -> None:
    rows: Any = [{"number": number, "said": ""} for number in range(job.conversations)]
    for place in range(len(ROLES)):
        rows = Speaker(place, job)(rows, working_dir=str(job.folder / str(place))).dataset
    assert len(rows) == job.conversations


if __name__ == "__main__":
    with measured() as job:
        generate(job)
