"""Every command answers every hostile file within its time and memory: with its work, or with one line."""

import json
import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import versions, write_manifest
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from tests.attack.limits import TooLong, limited, memory
from tests.attack.mutations import broken_bytes, broken_json, broken_table, broken_text, rewritten
from tests.datasets import vouch
from tests.e2e.runs import SOLILOQUY, said
from tests.unit.cli.test_terminal import shown_controls
from tests.unit.dataset.small import small
from tests.unit.training.adapters.folders import training

CASES = 5_000
MOST_SECONDS = 20
MOST_MEMORY = 1024**3
PROBLEMS = 12

# Prepares a hostile file in a folder that is the case's own; returns the command's words.
Attack = Callable[[Path, Path, Random], list[str]]

_OF_DATASETS = [
    *(
        ["show"],
        ["show", "--rejected"],
        ["show", "--prompts"],
        ["show", "c1"],
        ["verify"],
        ["check"],
        ["check", "--rejected"],
    ),
    *(["report"], ["tail"], ["tail", "--json"], ["export", "--format", "hf"], ["export", "--format", "openai"]),
    *(["export", "--format", "mathdial"], ["export", "--format", "fastchat", "--rejected"]),
    *(["export", "--format", "soliloquies"], ["freeze"]),
]
_OF_PROBLEMS = [
    *(["problems", "check"], ["problems", "show"], ["problems", "dedupe"], ["problems", "split"]),
    *(["problems", "import", "--as", "jsonl"], ["problems", "import", "--as", "csv"], ["generate"]),
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real files of every kind that commands read."""
    home = tmp_path_factory.mktemp("real")
    place, tally = Storage(home / "dataset"), Tally()
    writer = DatasetWriter(place, home / "work", (), ShardLimits(), tally)
    for number in range(6):
        one = Collected(conversation=small(number).SerializeToString(), recipe="soliloquy")
        one.timings.collected_at = 1e9 + number
        one.reasons.extend(["verdict: turn 1"] * (number > 3))
        writer.add(one)
    run = {"recipe": "soliloquy", "seed": 7, "conversations": 4, **versions("soliloquy")}
    counted = {"run": run, "counts": tally.as_json(), "cost": {}, "arrival": {}}
    write_manifest(place, counted, writer.close())
    for name, file in (
        ("openai", "openai.jsonl"),
        ("mathdial", "mathdial.csv"),
        ("hf", "hf"),
        ("fastchat", "fastchat.json"),
    ):
        done = said([SOLILOQUY, "export", str(home / "dataset"), "--format", name, "--out", str(home / file)])
        assert done.returncode == 0, done.stderr
    evaluating = ["evaluate", "mathdial", "--tutor", "next-step", "--dialogues", "3", "--quiet"]
    assert said([SOLILOQUY, *evaluating, "--out", str(home / "evaluation")]).returncode == 0
    registry = ["--registry", str(home / "registry")]
    pushed = said([SOLILOQUY, "adapters", "push", str(training(home / "training")), "--name", "tutor", *registry])
    assert pushed.returncode == 0, pushed.stderr
    problems = home / "problems.jsonl"
    said([SOLILOQUY, "problems", "sample", "physics", "--count", str(PROBLEMS), "--out", str(problems)])
    rows = [json.loads(line) for line in problems.read_text("utf-8").splitlines()]
    lines = "".join(f"{json.dumps(row['question'])},{json.dumps(row['solution'])}\n" for row in rows)
    (home / "problems.csv").write_text(f"question,solution\n{lines}", "utf-8")
    assert len(rows) == PROBLEMS
    assert list(Conversation.DESCRIPTOR.fields)
    return home


def attack_on_shard(real: Path, home: Path, draw: Random) -> list[str]:
    shutil.copytree(real / "dataset", home / "dataset")
    shard = draw.choice(sorted((home / "dataset").glob("*/*.parquet")))
    if draw.random() < 0.3:
        shard.write_bytes(broken_bytes(shard.read_bytes(), draw))
    else:
        rewritten(shard, broken_table, draw)
    # Behind its manifest's back, a shard of another size is not read at all.
    if draw.random() < 0.9:
        vouch(home / "dataset", str(shard.relative_to(home / "dataset")))
    return _of_dataset(home, draw)


def attack_on_manifest(real: Path, home: Path, draw: Random) -> list[str]:
    shutil.copytree(real / "dataset", home / "dataset")
    manifest = home / "dataset" / "manifest.json"
    text = broken_json(json.loads(manifest.read_bytes()), draw).encode("utf-8", "surrogatepass")
    manifest.write_bytes(broken_bytes(text, draw) if draw.random() < 0.1 else text)
    return _of_dataset(home, draw)


def attack_on_journal(_: Path, home: Path, draw: Random) -> list[str]:
    work = home / "dataset" / ".run"
    work.mkdir(parents=True)
    frame = Collected(conversation=small().SerializeToString(), recipe="soliloquy").SerializeToString()
    head = len(frame).to_bytes(4, "little") + zlib.crc32(frame, len(frame) ^ 0xFFFFFFFF).to_bytes(4, "little")
    junk = broken_bytes(frame, draw)
    valid = len(junk).to_bytes(4, "little") + zlib.crc32(junk, len(junk) ^ 0xFFFFFFFF).to_bytes(4, "little") + junk
    content = draw.choice([valid + head + frame, broken_bytes((head + frame) * 3, draw)])
    (work / draw.choice(["journal", "journal-0", "journal-x", "journal-99999999999999999999"])).write_bytes(content)
    (work / "prompts.json").write_text(draw.choice(["{}", "[]", "[" * 9999, '{"a.txt": 1}', "null"]))
    return _of_dataset(home, draw)


def attack_on_place(real: Path, home: Path, draw: Random) -> list[str]:
    """Puts something else in the place of a file."""
    shutil.copytree(real / "dataset", home / "dataset")
    files = [path for path in sorted((home / "dataset").rglob("*")) if path.is_file()]
    path = draw.choice(files)
    path.unlink()
    _strange(path, draw)
    return _of_dataset(home, draw)


def attack_on_problems(real: Path, home: Path, draw: Random) -> list[str]:
    words = draw.choice(_OF_PROBLEMS)
    path = home / f"problems{draw.choice(['.csv', '.jsonl'])}"
    if draw.random() < 0.07:
        _strange(path, draw)
    else:
        path.write_bytes(broken_text((real / path.name).read_text("utf-8"), draw))
    where = [f"{path}:{draw.randint(0, 12)}"] if words == ["problems", "show"] else [str(path)]
    if words == ["generate"]:
        # Refused before anything runs, or after: the run cannot start twice.
        return ["problems", "check", *where]
    out = (
        []
        if words[1] in ("check", "show")
        else ["--out", str(home / "out.jsonl" if words[1] != "split" else home / "out")]
    )
    return [*words[:2], *where, *words[2:], *out]


def attack_on_import(real: Path, home: Path, draw: Random) -> list[str]:
    name, file = draw.choice([("openai", "openai.jsonl"), ("mathdial", "mathdial.csv"), ("fastchat", "fastchat.json")])
    path = home / file
    if draw.random() < 0.05:
        _strange(path, draw)
    else:
        path.write_bytes(broken_text((real / file).read_text("utf-8"), draw))
    return ["import", str(path), "--format", name, "--out", str(home / "out")]


def attack_on_folder(real: Path, home: Path, draw: Random) -> list[str]:
    """A folder of Hugging Face's `datasets`."""
    shutil.copytree(real / "hf", home / "hf")
    path = draw.choice([one for one in sorted((home / "hf").rglob("*")) if one.is_file()])
    if path.suffix == ".json":
        path.write_bytes(broken_json(json.loads(path.read_bytes()), draw).encode("utf-8", "surrogatepass"))
    elif draw.random() < 0.15:
        path.unlink()
        _strange(path, draw)
    else:
        path.write_bytes(broken_bytes(path.read_bytes(), draw))
    if draw.random() < 0.5:
        return ["import", str(home / "hf"), "--format", "hf", "--out", str(home / "out")]
    return ["problems", "import", str(home / "hf"), "--as", "datasets", "--out", str(home / "out.jsonl")]


def attack_on_parquet(real: Path, home: Path, draw: Random) -> list[str]:
    path = home / "problems.parquet"
    shutil.copy(real / "dataset" / "accepted" / "00000.parquet", path)
    rewritten(path, broken_table, draw)
    if draw.random() < 0.5:
        path.write_bytes(broken_bytes(path.read_bytes(), draw))
    columns = draw.choice(["question=id,solution=persona", "question=problem,solution=turns", "question=id"])
    return ["problems", "import", str(path), "--as", "parquet", "--columns", columns, "--out", str(home / "out.jsonl")]


def attack_on_settings(_: Path, home: Path, draw: Random) -> list[str]:
    good = 'endpoint = "e"\n[endpoints.e]\nengine = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
    deep = draw.choice(["[" * 3000, "{a = " * 3000, "[[" + "a." * 3000 + "b]]", "a" + ".a" * 3000 + " = 1"])
    text = draw.choice([f"{good}x = {deep}", deep, good.replace('"m"', repr(draw.choice([1, [], 1e400, True])))])
    path = home / "models.toml"
    if draw.random() < 0.3:
        _strange(path, draw)
    else:
        path.write_bytes(broken_bytes(text.encode(), draw) if draw.random() < 0.5 else text.encode())
    words = ["generate", "--problems", "no-such-bank", "--conversations", "1", "--out", str(home / "out")]
    return [*words, "--model-settings", str(path)]


def attack_on_evaluation(real: Path, home: Path, draw: Random) -> list[str]:
    shutil.copytree(real / "evaluation", home / "evaluation")
    _break_one(home / "evaluation", ["report.json", "cases.jsonl"], draw)
    out = ["--out", str(home / "both")] if draw.random() < 0.3 else []
    return ["evaluate", "compare", str(home / "evaluation"), str(real / "evaluation"), *out]


def attack_on_registry(real: Path, home: Path, draw: Random) -> list[str]:
    shutil.copytree(real / "registry", home / "registry")
    (home / "registry" / "active.json").write_text('{"tutor": {"version": "tutor@0", "since": "", "before": []}}')
    _break_one(home / "registry", ["active.json", "versions/*.json"], draw)
    return ["adapters", "list", "--registry", str(home / "registry")]


def attack_on_adapter(real: Path, home: Path, draw: Random) -> list[str]:
    shutil.copytree(real / "training", home / "training")
    _break_one(home / "training", ["report.json", "adapter/*"], draw)
    return ["adapters", "push", str(home / "training"), "--name", "tutor", "--registry", str(home / "registry")]


ATTACKS: dict[Attack, int] = {
    attack_on_shard: 30,
    attack_on_manifest: 20,
    attack_on_journal: 5,
    attack_on_place: 8,
    attack_on_problems: 14,
    attack_on_import: 10,
    attack_on_folder: 6,
    attack_on_parquet: 4,
    attack_on_settings: 3,
    attack_on_evaluation: 5,
    attack_on_registry: 2,
    attack_on_adapter: 3,
}


def _of_dataset(home: Path, draw: Random) -> list[str]:
    first, *rest = draw.choice(_OF_DATASETS)
    folder = str(home / "dataset")
    match first:
        case "show":
            return [first, folder, *rest]
        case "freeze":
            return [first, "--data", folder, "--out", str(home / "frozen")]
        case "export":
            return [first, folder, *rest, "--out", str(home / f"out{'' if 'hf' in rest else '.jsonl'}")]
        case "report":
            return [first, folder, "--out", str(home / "report.html")]
    return [first, folder, *rest]


def _break_one(folder: Path, patterns: list[str], draw: Random) -> None:
    path = draw.choice(sorted(folder.glob(draw.choice(patterns))))
    if draw.random() < 0.15:
        path.unlink()
        _strange(path, draw)
    elif path.suffix == ".json":
        path.write_bytes(broken_json(json.loads(path.read_bytes()), draw).encode("utf-8", "surrogatepass"))
    elif path.suffix == ".safetensors":
        path.write_bytes(broken_bytes(path.read_bytes(), draw))
    else:
        path.write_bytes(broken_text(path.read_text("utf-8"), draw))


def _strange(path: Path, draw: Random) -> None:
    match draw.randrange(6):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.mkdir()
        case 3:
            path.symlink_to(path)
        case 4:
            path.symlink_to("/proc/self/mem")
        case _:
            path.write_bytes(b"")


def outcome(words: list[str]) -> str:
    """Returns "done", "refused", or what is wrong with how the command ended."""
    before = memory("VmRSS")
    # The most memory is counted anew: what earlier commands left in this process is not this one's.
    Path("/proc/self/clear_refs").write_text("5")
    with limited(MOST_SECONDS):
        try:
            ended = said([SOLILOQUY, *words])
        except TooLong:
            return f"over {MOST_SECONDS} s"
        except BaseException as error:  # Whatever it is, it would be a traceback.
            return f"traceback: {type(error).__name__}: {str(error)[:200]}"
    if shown_controls(ended.stdout + ended.stderr):
        return f"control characters: {sorted(shown_controls(ended.stdout + ended.stderr))}"
    if memory("VmHWM") - before > MOST_MEMORY:
        return "over 1 GiB"
    return "refused" if ended.returncode else "done"


@pytest.mark.timeout(3600)
def test_no_hostile_file_ends_a_command_otherwise_than_with_its_work_or_a_line(real: Path, tmp_path: Path) -> None:
    counted: dict[str, Counter[str]] = {}
    slowest: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(int(os.environ.get("HOSTILE_FILES", CASES))):
        draw = Random(seed)
        [attack] = draw.choices(list(ATTACKS), list(ATTACKS.values()))
        home = tmp_path / str(seed)
        home.mkdir()
        words = attack(real, home, draw)
        started = time.monotonic()
        ended = outcome(words)
        name = f"{attack.__name__.removeprefix('attack_on_')}: {' '.join(words[: 1 + (words[0] == 'problems')])}"
        slowest[name] = max(slowest[name], round(1000 * (time.monotonic() - started)))
        kind = ended if ended in ("done", "refused") else "wrong"
        counted.setdefault(name, Counter())[kind] += 1
        if kind == "wrong":
            wrong.append(f"seed {seed}: soliloquy {' '.join(words)}: {ended}")
            print(wrong[-1])
        shutil.rmtree(home)
    made = table("attack: command", "done", "one line", "wrong", "slowest")
    for name, found in sorted(counted.items()):
        made.add_row(name, *(str(found[kind]) for kind in ("done", "refused", "wrong")), f"{slowest[name]} ms")
    made.add_row("all", *(str(sum(one[kind] for one in counted.values())) for kind in ("done", "refused", "wrong")))
    Console().print(made)
    assert not wrong
