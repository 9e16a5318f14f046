"""Both engines that run weights keep one contract, over gRPC: vLLM on the CPU, transformers beside it."""

import asyncio
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

from benchmarks.model_load import channel
from benchmarks.processes import family, stats
from benchmarks.real_servers import QUIET_VLLM, START_SECONDS, VLLM
from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2_grpc import ModelServiceStub
from tests.integration.model.support import check_scores, request, scoring
from tests.integration.model.test_bad_input import BAD_ADAPTERS
from tests.servers.engine import VLLM_SETTINGS
from tests.servers.promises import ENDLESS

if TYPE_CHECKING:
    from soliloquy.v1.model_pb2_grpc import ModelServiceAsyncStub

pytestmark = pytest.mark.timeout(900)

SECONDS = 240.0
_ROOT = Path(__file__).parents[2]
CALLERS, SWAPS = 6, 10
# The calls that have to be answered beside the swaps: CALLS=5000 takes minutes.
CALLS = int(os.environ.get("CALLS", "0"))
WORDS = json.dumps({"type": "string", "enum": ["Newton", "joule"]})


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @asynccontextmanager
    async def stub(self) -> AsyncIterator["ModelServiceAsyncStub"]:
        async with channel(int(self.says("port"))) as opened:
            yield ModelServiceStub(opened)

    def says(self, what: str) -> str:
        """Waits for a line of its own among those of its libraries."""
        deadline = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            if found := re.search(rf"^{what} (.+)$", self.log.read_text("utf-8", "replace"), re.MULTILINE):
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"no {what}: {self.log.read_text('utf-8', 'replace')[-3000:]}")


@pytest.fixture(scope="module", params=["transformers", "vllm"])
def engine(request: pytest.FixtureRequest, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    name, log = request.param, tmp_path_factory.mktemp("engine") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(VLLM) if name == "vllm" else sys.executable, str(_ROOT / "tests/servers/engine.py"), name, str(base)],
            env={**os.environ, **QUIET_VLLM, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(_ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        engine = Engine(name=name, process=process, log=log)
        engine.says("port")
        yield engine
    finally:
        left = family({process.pid}, stats()) - {process.pid}
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        for pid in left & set(stats()):
            os.kill(pid, signal.SIGKILL)


def context(engine: Engine) -> int | None:
    # What was set reaches vLLM; the model itself takes 4,096.
    return VLLM_SETTINGS.context if engine.name == "vllm" else 4096


async def refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value.code(), raised.value.details() or ""


async def load(stub: "ModelServiceAsyncStub", name: str, folder: Path) -> pb.Adapter:
    """Tries again while answers with replaced adapters leave no room."""
    asked = pb.LoadAdapterRequest(adapter=pb.Adapter(name=name, path=str(folder)))
    while True:
        try:
            return (await stub.LoadAdapter(asked, timeout=SECONDS)).adapter
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            await asyncio.sleep(0.2)


async def unload(stub: "ModelServiceAsyncStub", name: str) -> None:
    await stub.UnloadAdapter(pb.UnloadAdapterRequest(name=name), timeout=SECONDS)


async def test_an_answer_says_who_gave_it_and_its_pieces_make_it_up(engine: Engine) -> None:
    async with engine.stub() as stub:
        answer = await stub.Generate(request(seed=3, temperature=1.0), timeout=SECONDS)
        deltas = [delta async for delta in stub.GenerateStream(request(seed=3, temperature=1.0), timeout=SECONDS)]
        info = await stub.Info(pb.InfoRequest(), timeout=SECONDS)
    assert (answer.engine, info.engine, info.context_tokens) == (engine.name, engine.name, context(engine))
    assert 0 < answer.completion_tokens <= 24
    assert "".join(delta.text for delta in deltas) == answer.text == deltas[-1].completion.text


async def test_an_answer_says_how_probable_each_token_was(engine: Engine) -> None:
    asked = request(max_tokens=6)
    asked.sampling.logprobs, asked.sampling.top_logprobs = True, 4
    async with engine.stub() as stub:
        answer = await stub.Generate(asked, timeout=SECONDS)
        asked.sampling.top_logprobs = 21
        code, line = await refusal(stub.Generate(asked, timeout=SECONDS))
    assert len(answer.logprobs) == answer.completion_tokens
    for one in answer.logprobs:
        # At temperature 0 the first is the one that was taken.
        assert (len(one.top), one.top[0].logprob) == (4, one.logprob)
        assert [each.logprob for each in one.top] == sorted((each.logprob for each in one.top), reverse=True)
        assert sum(math.exp(each.logprob) for each in one.top) <= 1.0001
    assert (code, line.partition(":")[0]) == (grpc.StatusCode.INVALID_ARGUMENT, "top_logprobs is 21")


async def test_a_prompt_is_scored_as_the_library_does(engine: Engine, base: Path, adapters: list[pb.Adapter]) -> None:
    tokens = [5 + place * 7 % 90 for place in range(300)]
    async with engine.stub() as stub:
        await load(stub, "scored", Path(adapters[0].path))
        for adapter, path in (("", ""), ("scored", adapters[0].path)):
            # The second time the prompt's beginning is in the cache.
            for _ in range(2):
                answer = await stub.Generate(scoring(tokens, adapter=adapter), timeout=SECONDS)
                check_scores(answer, base, path, tokens)
        await unload(stub, "scored")


async def test_an_answer_has_the_form_of_its_schema(engine: Engine) -> None:
    async with engine.stub() as stub:
        asked = [request(schema=WORDS, seed=seed, temperature=1.0) for seed in range(6)]
        answers = await asyncio.gather(*(stub.Generate(one, timeout=SECONDS) for one in asked))
    assert {json.loads(answer.text) for answer in answers} <= {"Newton", "joule"}


async def test_a_seed_gives_the_same_answer_alone_and_in_a_crowd(engine: Engine) -> None:
    one = request(seed=7, temperature=0.9, max_tokens=12)
    async with engine.stub() as stub:
        alone = await stub.Generate(one, timeout=SECONDS)
        crowd = [request(f"Question {seed}?", seed=seed, temperature=1.1, max_tokens=12) for seed in range(6)]
        *_, beside = await asyncio.gather(*(stub.Generate(each, timeout=SECONDS) for each in [*crowd, one]))
        other = await stub.Generate(request(seed=8, temperature=0.9, max_tokens=12), timeout=SECONDS)
    assert alone.text == beside.text != other.text


async def test_adapters_are_replaced_under_load_and_their_folders_may_go(
    engine: Engine, adapters: list[pb.Adapter], tmp_path: Path
) -> None:
    answers: list[pb.Completion] = []
    failures: list[str] = []
    over = asyncio.Event()

    async def call(number: int) -> None:
        while not over.is_set():
            asked = request(f"Question {number} {len(answers)}?", adapter="tutor", max_tokens=6)
            try:
                answers.append(await stub.Generate(asked, timeout=SECONDS))
            except grpc.aio.AioRpcError as error:
                failures.append(error.details() or "")

    async with engine.stub() as stub:
        swaps, served = 0, Path(shutil.copytree(adapters[0].path, tmp_path / "0"))
        await load(stub, "tutor", served)
        await load(stub, "kept", Path(shutil.copytree(adapters[1].path, tmp_path / "kept")))
        shutil.rmtree(tmp_path / "kept")
        async with asyncio.TaskGroup() as calling:
            for number in range(CALLERS):
                calling.create_task(call(number))
            while swaps < SWAPS or len(answers) < CALLS:
                swaps += 1
                before, served = served, Path(shutil.copytree(adapters[swaps % 2].path, tmp_path / str(swaps)))
                await load(stub, "tutor", served)
                shutil.rmtree(before)
                await asyncio.sleep(0.5)
            over.set()
        kept = await stub.Generate(request(adapter="kept", max_tokens=6), timeout=SECONDS)
        again = await load(stub, "tutor", Path(adapters[0].path))
        for name in ("tutor", "kept"):
            await unload(stub, name)
        unknown = await refusal(stub.Generate(request(adapter="tutor"), timeout=SECONDS))
    print(f"{engine.name}: {len(answers):,} calls, {len(failures)} failures, {swaps} swaps")
    assert not failures
    assert {answer.adapter_digest for answer in answers} == {again.digest, kept.adapter_digest}
    assert len(answers) > SWAPS
    assert unknown[0] == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(("spoil", "kind", "words"), BAD_ADAPTERS)
async def test_an_adapter_that_cannot_be_used_is_refused_in_a_sentence(
    engine: Engine,
    adapters: list[pb.Adapter],
    tmp_path: Path,
    spoil: Callable[[Path], object],
    kind: type[Exception],
    words: str,
) -> None:
    folder = Path(shutil.copytree(adapters[0].path, tmp_path / "spoiled"))
    spoil(folder)
    async with engine.stub() as stub:
        asked = pb.LoadAdapterRequest(adapter=pb.Adapter(name="spoiled", path=str(folder)))
        code, told = await refusal(stub.LoadAdapter(asked, timeout=SECONDS))
        answer = await stub.Generate(request(max_tokens=2), timeout=SECONDS)
    assert code == grpc.StatusCode.FAILED_PRECONDITION
    assert "\n" not in told
    assert answer.completion_tokens == 2


async def test_a_prompt_over_the_context_is_refused(engine: Engine) -> None:
    async with engine.stub() as stub:
        code, told = await refusal(stub.Generate(request("why " * 9000), timeout=SECONDS))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert f"more than the {context(engine)} of" in told


async def test_a_call_that_is_given_up_frees_the_engine(engine: Engine) -> None:
    async with engine.stub() as stub:
        long = [stub.GenerateStream(request(schema=ENDLESS, max_tokens=1800, seed=seed)) for seed in range(16)]
        await asyncio.gather(*(one.read() for one in long))
        for one in long:
            one.cancel()
        began = time.monotonic()
        await stub.Generate(request(max_tokens=2), timeout=SECONDS)
    assert time.monotonic() - began < 60


async def test_a_killed_core_is_told_at_once_and_the_next_call_is_turned_away(engine: Engine) -> None:
    if engine.name != "vllm":
        pytest.skip("the transformers engine has no process of its own")
    [core] = [
        pid
        for pid in family({engine.process.pid}, stats()) - {engine.process.pid}
        if b"EngineCore" in Path(f"/proc/{pid}/comm").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    async with engine.stub() as stub:
        long = stub.GenerateStream(request(schema=ENDLESS, max_tokens=1800))
        await long.read()
        began = time.monotonic()
        os.kill(core, signal.SIGKILL)
        assert (await asyncio.to_thread(engine.says, "fault")).startswith("vLLM has failed")
        assert time.monotonic() - began < 5
        code, _ = await refusal(stub.Generate(request(max_tokens=2), timeout=SECONDS))
    assert code == grpc.StatusCode.UNAVAILABLE
