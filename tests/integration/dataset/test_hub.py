"""Datasets on a hub of this machine, by the library that users have: pushed, shown by columns, pulled, pushed again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.e2e.runs import SOLILOQUY, command, one_line, run
from tests.hub.server import FakeHub, Repository, serving

URL = "hf://school/physics"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pushed") / "dataset"
    assert run(command(folder, conversations=6, noise="real", quiet=True)).returncode == 0
    return folder


def soliloquy(hub: FakeHub, *arguments: str | Path, token: str = "hf_writer") -> CompletedProcess[str]:
    # The hub's other protocol for large files is a library in Rust with a service of its own.
    environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1"}
    return run([SOLILOQUY, *map(str, arguments)], environment=environment)


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if ".run" not in path.parts}


def test_a_pulled_dataset_is_the_pushed_one_and_commands_take_it(hub: FakeHub, dataset: Path, tmp_path: Path) -> None:
    pushed = soliloquy(hub, "push", dataset, URL, "--splits", "train=0.5,test=0.5", "--json")
    assert pushed.returncode == 0, pushed.stderr
    told = json.loads(pushed.stdout)
    assert (told["private"], told["changed"], sum(told["rows"].values())) == (True, True, 6)
    assert hub.repositories["school/physics"].private

    out = tmp_path / "pulled"
    pulled = soliloquy(hub, "pull", URL, "--out", out, token="hf_reader")
    assert pulled.returncode == 0, pulled.stderr
    assert pushed.stderr == pulled.stderr == ""
    assert pulled.stdout == f"6 conversations in {out}\n"
    ours, theirs = contents(dataset), contents(out)
    assert {name: theirs.get(name) for name in ours} == ours
    assert {name.partition("/")[0] for name in theirs.keys() - ours.keys()} == {"README.md", "data"}
    for one in ("verify", "check", "report", "show"):
        assert run([SOLILOQUY, one, str(out)]).returncode == 0, one


def test_the_viewer_has_flat_columns_by_split(
    hub: FakeHub, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    from datasets import load_dataset

    assert soliloquy(hub, "push", dataset, URL, "--splits", "train=0.5,test=0.5").returncode == 0
    assert soliloquy(hub, "pull", URL, "--out", tmp_path / "pulled").returncode == 0
    shown = load_dataset(str(tmp_path / "pulled"), cache_dir=str(tmp_path / "cache"))
    assert {*shown} == {"train", "test"}
    rows = [row for part in shown.values() for row in part]
    assert len({row["id"] for row in rows}) == 6
    for row in rows:
        assert [message["role"] for message in row["messages"][:2]] == ["user", "assistant"]
        assert {type(value) for name, value in row.items() if name != "messages"} == {str}
        assert row["question"]
    whole = load_dataset(str(tmp_path / "pulled"), "accepted", cache_dir=str(tmp_path / "cache"))
    assert {row["id"] for part in whole.values() for row in part} == {row["id"] for row in rows}


def test_a_second_push_uploads_only_what_changed(hub: FakeHub, dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(dataset, tmp_path / "dataset"))
    (folder / "README.md").write_text("# Ours\n", "utf-8")
    assert soliloquy(hub, "push", folder, URL).returncode == 0
    hub.uploads.clear()
    again = soliloquy(hub, "push", folder, URL)
    assert (again.returncode, hub.uploads) == (0, [])
    assert "has all of it already" in again.stdout

    (folder / "README.md").write_text("# Ours, with more words\n", "utf-8")
    assert soliloquy(hub, "push", folder, URL, "--splits", "all=1.0").returncode == 0
    assert hub.uploads == ["README.md"]
    files = hub.repositories["school/physics"].files
    assert [name for name in files if name.startswith("data/")] == ["data/all-00000.parquet"]
    assert files["README.md"].endswith(b"# Ours, with more words\n")


def test_a_public_repository_takes_a_dataset_only_when_told_to(hub: FakeHub, dataset: Path) -> None:
    assert soliloquy(hub, "push", dataset, URL, "--public").returncode == 0
    assert not hub.repositories["school/physics"].private
    line = one_line(soliloquy(hub, "push", dataset, URL))
    assert line == f"soliloquy: {URL} is public: pass --public to publish the dataset there"


@pytest.mark.parametrize(
    ("token", "arguments", "status", "advice"),
    [
        ("", ("push", "DATASET", URL), 401, "set HF_TOKEN to a token of huggingface.co/settings/tokens"),
        ("hf_stranger", ("push", "DATASET", URL), 401, "set HF_TOKEN to a token of huggingface.co/settings/tokens"),
        ("hf_reader", ("push", "DATASET", URL), 403, "set HF_TOKEN to a token with write access to it"),
        ("hf_reader", ("pull", URL, "--out", "OUT"), 404, "there is no such dataset, or HF_TOKEN may not read it"),
    ],
)
def test_a_refusal_is_one_line_that_says_what_to_do(
    hub: FakeHub, dataset: Path, tmp_path: Path, token: str, arguments: tuple[str, ...], status: int, advice: str
) -> None:
    places = {"DATASET": str(dataset), "OUT": str(tmp_path / "out")}
    line = one_line(soliloquy(hub, *(places.get(one, one) for one in arguments), token=token))
    assert line == f"soliloquy: {hub.url} answered {status} for {URL}: {advice}"
    assert [*tmp_path.iterdir()] == []


def test_a_repository_of_others_is_not_downloaded(hub: FakeHub, tmp_path: Path) -> None:
    hub.repositories["school/physics"] = Repository(private=False, commits=[{"train.csv": b"a,b"}])
    line = one_line(soliloquy(hub, "pull", URL, "--out", tmp_path / "out"))
    assert line.startswith(f"soliloquy: {URL} has no manifest.json: ")
    assert [*tmp_path.iterdir()] == []


def test_an_address_that_names_no_dataset_is_refused(hub: FakeHub, dataset: Path) -> None:
    line = one_line(soliloquy(hub, "push", dataset, "hf://physics"))
    assert line == "soliloquy: invalid dataset 'hf://physics': use hf://NAMESPACE/NAME"


def test_a_hub_that_is_away_is_one_line(dataset: Path) -> None:
    line = one_line(soliloquy(FakeHub(url="http://127.0.0.1:1"), "push", dataset, URL))
    assert line.startswith(f"soliloquy: {URL}: http://127.0.0.1:1 failed (")
    assert line.endswith("): check the network and HF_ENDPOINT, then repeat the command")
