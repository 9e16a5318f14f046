"""MathTutorBench and MRBench through an endpoint, from local copies: the figures are those that their papers compute.

The copies here have the form of the published ones and none of their texts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.hosted import speaking
from tests.e2e.runs import SOLILOQUY, said
from tests.models import needs_torch

CONFIG = """\
name: {name}
dataset_path: {data}
system_prompt: "TASK {name}\\n{{{{ shots }}}}\\n{slots}\\nA:"
few_shot_samples: "one shot"
stop: ["Q:"]
"""
SLOTS = {
    "gsm8k": "{{question}}",
    "socratic_questioning": "{{question}}",
    "solution_correctness": "{{question}} {{dialog_history}} {{student_chat_solution}}",
    "mistake_location": "{{question}} {{ student_solution }}",
    "mistake_correction": "{{question}} {{student_chat_solution}}",
    "scaffolding_generation": "{{question}} {{dialog_history}}",
}
SOLVED = [
    {"question": "Ada has 3 boxes of 4 pens. How many pens?", "answer": "3 * 4 = 12\n#### 12"},
    {"question": "Ben walks 1,000 m and 200 m. How far?", "answer": "1000 + 200 = 1200\n#### 1,200"},
]
ASKED = [
    {"question": "Ada has 3 boxes of 4 pens.", "answer": "How many pens are there? ** 3 * 4 = 12\n#### 12"},
    {"question": "Ben walks.", "answer": "How far does Ben walk? ** 1200 m\n#### 1200"},
]
STEPS = [
    {
        "problem": f"Problem {name}: what is left?",
        "dialog_history": [
            {"user": "Teacher", "text": "Tell me how you did it."},
            {"user": "Student", "text": f"I got {wrong}."},
        ],
        "student_incorrect_solution": ["10 - 3 = 7", f"7 - 2 = {wrong}", str(wrong)],
        "incorrect_index": 1,
        "student_correct_response": "I got 5.",
        "reference_solution": "10 - 3 = 7\n7 - 2 = 5\n5",
    }
    for name, wrong in (("one", 4), ("two", 6))
]
DIALOGUES = [
    {
        "problem": f"Problem {name}",
        "reference_solution": "7 - 2 = 5",
        "dialog_history": [
            {"user": "Student", "text": "I got 4."},
            {"user": "Teacher", "text": "What did you take from seven?"},
        ],
    }
    for name in ("one", "two")
]
RATING = 'import torch\n\nSYSTEM_PROMPT = ("Rate the " "teacher.")\n'


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mathtutorbench")
    for place in ("configs", "dataset", "reward_model", "gsm8k/main", "gsm8k/socratic"):
        (folder / place).mkdir(parents=True)
    data = {"scaffolding_generation": "dataset/talks.json", "gsm8k": "gsm8k", "socratic_questioning": "gsm8k"}
    for name, slots in SLOTS.items():
        text = CONFIG.format(name=name, slots=slots, data=data.get(name, "dataset/steps.json"))
        (folder / "configs" / f"{name}.yaml").write_text(text, "utf-8")
    (folder / "dataset/steps.json").write_text(json.dumps(STEPS), "utf-8")
    (folder / "dataset/talks.json").write_text(json.dumps(DIALOGUES), "utf-8")
    (folder / "reward_model/compute_scaffolding_score.py").write_text(RATING, "utf-8")
    for part, rows in (("main", SOLVED), ("socratic", ASKED)):
        pq.write_table(pa.Table.from_pylist(rows), folder / "gsm8k" / part / "test-00000-of-00001.parquet")
    return folder


def answer(prompt: str) -> str:
    """Solves the first of two problems, and calls every solution of the second incorrect, at step 2."""
    assert "one shot" in prompt
    task, second = prompt.split()[1], "Problem two" in prompt
    is_wrong = second or "4" in prompt
    match task:
        case "gsm8k":
            return "Final answer: 12 Q: and 99?" if "Ada" in prompt else "It is 1,300, I think: 1300"
        case "socratic_questioning":
            return "How many pens are there?" if "Ada" in prompt else "None."
        case "solution_correctness":
            return "Yes" if is_wrong else "No."
        case "mistake_location":
            return "Step 2" if is_wrong else "0"
        case "mistake_correction":
            return "Final Answer: $5" if not second else "7 - 2 = 5, so 4"
        case _:
            return "What did you take from seven?" if second else "Look at the second step."


@pytest.fixture(scope="module")
def measured(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    out = tmp_path_factory.mktemp("measured") / "report"
    with speaking(answer) as url:
        result = said([SOLILOQUY, "evaluate", "mathtutorbench", str(copy), "--out", str(out), *endpoint(url)])
    assert result.returncode == 0, result.stderr
    return json.loads((out / "report.json").read_bytes()), result.stdout


def endpoint(url: str) -> Iterator[str]:
    yield from ("--model", "openai", "--base-url", url, "--model-name", "careful")


def test_each_task_has_the_figure_that_its_repository_computes(measured: tuple[dict[str, Any], str]) -> None:
    figures = measured[0]["figures"]
    shares = {name: (share["passed"], share["of"]) for name, share in figures["metrics"].items()}
    assert shares == {
        "gsm8k": (1, 2),
        "solution_correctness_accuracy": (3, 4),
        "mistake_location": (3, 4),
        "mistake_correction": (2, 4),
    }
    # Three are called incorrect, two of them rightly, and no incorrect one is missed.
    assert figures["measures"]["solution_correctness"] == pytest.approx(0.8)
    assert figures["measures"]["socratic_questioning"] == pytest.approx(0.5, abs=1e-9)
    assert figures["read_at_first"]["share"] == 1


def test_a_task_without_data_or_a_reward_model_is_not_measured_and_says_what_it_lacks(
    measured: tuple[dict[str, Any], str],
) -> None:
    report, printed = measured
    assert report["figures"]["measures"]["scaffolding_generation"] is None
    assert "not measured: pedagogy following, win rate: configs/ has no task pedagogy_following" in printed
    assert "scaffolding, win rate: it requires --reward-model" in printed


@needs_torch
def test_a_reply_wins_if_the_reward_model_rates_it_above_the_teachers(copy: Path, tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForSequenceClassification

    from benchmarks.random_weights import make_base
    from soliloquy_papers.tutor_benchmarks.mathtutorbench import TaskResult, rated
    from soliloquy_papers.tutor_benchmarks.reward_model import RewardModel
    from soliloquy_papers.tutor_benchmarks.tasks import BenchmarkCase

    weights = make_base(tmp_path / "nano", "nano")
    LlamaForSequenceClassification(LlamaConfig.from_pretrained(weights, num_labels=1)).save_pretrained(weights)
    rating = RewardModel(weights, copy)

    def wins(reply: str, teacher: str) -> bool:
        row = {**DIALOGUES[0], "dialog_history": DIALOGUES[0]["dialog_history"][:1]}
        case = BenchmarkCase(id="a", task="scaffolding_generation", text="", stop=(), target=teacher, row=row)
        return bool(rated(TaskResult(case=case, answer=reply), rating).passed)

    one, other = "Look at the second step.", "What did you take from seven?"
    assert wins(one, other) != wins(other, one)
    assert not wins(one, one)
    assert not wins("", one)


RESPONSES = {"Expert": "Which number did you take from seven?", "Novice": "It is 5."}
LABELS = {
    "Expert": {"Mistake_Identification": "Yes", "Revealing_of_the_Answer": "No", "Tutor_Tone": "Neutral"},
    "Novice": {
        "Mistake_Identification": "To some extent",
        "Revealing_of_the_Answer": "Yes (and the revealed answer is correct)",
        "Tutor_Tone": "Encouraging",
    },
}


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("mrbench") / "MRBench.json"
    said_by = {name: {"response": text, "annotation": LABELS[name]} for name, text in RESPONSES.items()}
    talk = {
        "conversation_id": "7",
        "conversation_history": "Tutor: How many are left? \nStudent: 4",
        "Ground_Truth_Solution": "7 - 2 = 5",
        "anno_llm_responses": said_by,
    }
    file.write_text(json.dumps([talk]), "utf-8")
    return file


def mrbench(talks: Path, out: Path, *options: str) -> dict[str, Any]:
    result = said([SOLILOQUY, "evaluate", "mrbench", str(talks), "--out", str(out), *options])
    assert result.returncode == 0, result.stderr
    return dict(json.loads((out / "report.json").read_bytes())["figures"])


def test_people_give_a_recorded_tutor_the_share_of_desired_labels(talks: Path, tmp_path: Path) -> None:
    for name, desired in (("Expert", (1, 1, 0)), ("Novice", (0, 0, 1))):
        metrics = mrbench(talks, tmp_path / name, "--recorded", name)["metrics"]
        assert tuple(metrics[one]["passed"] for one in ("mistake_identification", "revealing", "tone")) == desired
        assert metrics["coherence"]["of"] == 0


def label(prompt: str) -> str:
    """Responds as a tutor; as a judge, gives the first label but for the tone."""
    if "Answer with the message alone." in prompt:
        return "What is seven minus two?"
    labels = [line.removeprefix("- ") for line in prompt.splitlines() if line.startswith("- ")]
    return json.dumps({"Reason": "It says so.", "Label": labels["Neutral" in labels]})


def test_a_judge_labels_a_models_responses_and_is_held_against_people(talks: Path, tmp_path: Path) -> None:
    with speaking(label) as url:
        judge = tmp_path / "judge.toml"
        judge.write_text(f'[endpoints.judge]\nengine = "openai"\nbase_url = "{url}"\nmodel = "strict"\n', "utf-8")
        by_judge = ("--judge", str(judge))
        own = mrbench(talks, tmp_path / "own", *by_judge, *endpoint(url))
        expert = mrbench(talks, tmp_path / "expert", *by_judge, "--recorded", "Expert")
    assert [own["metrics"][one]["passed"] for one in ("guidance", "revealing", "tone")] == [1, 0, 0]
    agreed = {
        name: expert["metrics"][f"agreement_{name}"]["passed"] for name in ("mistake_identification", "revealing")
    }
    assert agreed == {"mistake_identification": 1, "revealing": 0}
    assert expert["measures"]["f1_tone"] == 1.0
    assert "agreement_coherence" not in expert["metrics"]


def test_the_stand_in_is_refused_and_a_foreign_file_is_named(talks: Path, copy: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"))
    refused = said([SOLILOQUY, "evaluate", "mathtutorbench", str(copy), *out])
    assert "--model is required" in refused.stderr
    told = said([SOLILOQUY, "evaluate", "mathtutorbench", "--help"]).stdout
    assert "--model [openai|ray]" in told
    assert "scripted" not in told
    foreign = said([SOLILOQUY, "evaluate", "mathtutorbench", str(talks.parent), *out, *endpoint("http://127.0.0.1:1")])
    assert "holds no copy of MathTutorBench: it has no configs/*.yaml" in foreign.stderr
    unknown = said([SOLILOQUY, "evaluate", "mrbench", str(talks), *out, "--recorded", "Nobody"])
    assert "has no responses of 'Nobody': use Expert, Novice" in unknown.stderr
