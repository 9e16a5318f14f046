"""What services of an assignment are set to."""

from pathlib import Path

from soliloquy.runs.assembly import assembled
from soliloquy.runs.assignment import Assignment
from soliloquy.runtime.handling import MODEL_BOUND


async def test_every_conversation_of_a_run_may_wait_for_a_batch_at_once(tmp_path: Path) -> None:
    for in_batches, at_once in ((0, MODEL_BOUND), (12, MODEL_BOUND), (5_000, 5_000)):
        services = ("curriculum", "student", "planner")
        assignment = Assignment(services=services, transport=tmp_path / "log.sqlite", in_batches=in_batches)
        async with assembled(assignment) as assembly:
            curriculum, *asking = (service.max_in_flight for service in assembly.services)
        assert asking == [at_once, at_once]
        assert curriculum < MODEL_BOUND
