"""`python -m benchmarks NAME`."""

import click

from soliloquy.cli.lazy import LazyGroup

NAMES = (
    *("all", "sandbox", "transport", "observe", "pipeline", "turn", "dataset", "tables", "curate", "gateway", "chat"),
    *("gym", "big-run"),
    "peers",
    *("model-client", "model", "engine", "train", "reading", "brought", "solutions", "answers", "manners", "messages"),
    *(
        "claims",
        "steps",
        "plans",
        "told-numbers",
        "variety",
        "criteria",
        "soliloquy-rules",
        "mathdial-rules",
        "scaffold-rules",
    ),
    *("evidence", "spellings", "replay", "noise-rates", "noise-cost", "false-verdicts", "forecast", "real", "size"),
)
_MODULES = {name: f"benchmarks.{name.replace('-', '_')}" for name in NAMES}
# Peers import their package in environments that hold nothing of this project.
_MODULES |= {"all": "benchmarks.everything", "peers": "benchmarks.peers.command"}


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def benchmarks() -> None:
    """Measure this machine.

    A benchmark compares its figures with its targets. A missed target is reported, and is not an error.
    """


if __name__ == "__main__":
    benchmarks(prog_name="python -m benchmarks")
