"""Processes are copies of the one that made their keeper, without its files, as often as they are started."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from soliloquy.runs.keeper import Keeper, KeptProcess
from soliloquy.runtime.failure import Failure


@contextmanager
def keeper(target: Callable[[], int]) -> Iterator[Keeper]:
    with closing(Keeper("one", target)) as kept:
        yield kept


async def ended(kept: Keeper, process: KeptProcess) -> tuple[str, int | None]:
    said = (await process.stdout.read()).decode()
    await kept.end_of(process)
    process.close()
    return said, process.returncode


async def test_each_process_is_a_copy_without_the_files_of_its_maker(tmp_path: Path) -> None:
    made = {"before": "the fork"}

    def target() -> int:
        files = [number for number in range(3, 256) if Path(f"/proc/self/fd/{number}").exists()]
        print(made["before"], files, flush=True)
        return 3

    with (tmp_path / "open").open("w"), keeper(target) as kept:
        made["before"] = "later"
        for _ in range(2):
            assert await ended(kept, await kept.start()) == ("the fork []\n", 3)


async def test_a_process_that_is_killed_tells_by_which_signal() -> None:
    def target() -> int:
        signal.pause()
        return 0

    with keeper(target) as kept:
        process = await kept.start()
        process.kill(signal.SIGKILL)
        assert await ended(kept, process) == ("", -signal.SIGKILL)


async def test_a_killed_keeper_is_named_with_what_to_do() -> None:
    with keeper(lambda: 0) as kept:
        [pid] = [int(one) for one in Path(f"/proc/self/task/{os.getpid()}/children").read_text("utf-8").split()][-1:]
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(Failure, match="the process that starts one was killed: run the same command again"):
            await kept.start()
