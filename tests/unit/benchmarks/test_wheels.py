"""What is carried to a machine without a network: all that it lacks, and nothing that it has."""

from benchmarks.gpu.wheels import lacking

NEEDED = [
    "torch==2.11.0",
    "transformers==5.23.0",
    "click==8.5.1",
    "vllm==0.24.0",
    "nvidia-cublas==13.1",
    "opencv-python==4.1",
]
THERE = {"torch": "2.11.0", "transformers": "5.17.0", "click": "8.5.0"}


def test_a_library_that_is_there_stays_unless_the_project_needs_a_newer_one() -> None:
    assert lacking(NEEDED, THERE) == ["transformers==5.23.0", "vllm==0.24.0"]


def test_names_are_the_same_however_they_are_spelled() -> None:
    assert lacking(["pydantic_core==2.50.5"], {"pydantic-core": "2.50.5"}) == []
