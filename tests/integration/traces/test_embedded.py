"""A run on this machine as an operator sees it: its traces and its log, without any dialogue."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from soliloquy.client import Dataset
from soliloquy.recipes.soliloquy import recipe
from tests.e2e.hosted import fake
from tests.e2e.runs import command, run
from tests.traces.collector import Collector, collecting
from tests.traces.trees import gaps, orphans, root, trace_of

KEY = "sk-a-secret-that-nobody-sees"
# Shorter texts, such as a numeric answer, occur everywhere.
LEAST_CHARACTERS = 12
PROMPTS = Path(recipe.__file__).with_name("prompts")


@dataclass(frozen=True, kw_only=True)
class Seen:
    dataset: Dataset
    collector: Collector
    ended: subprocess.CompletedProcess[str]

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.ended.stderr.splitlines()]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """A run with many faults, logged from level "info" on."""
    folder = tmp_path_factory.mktemp("seen")
    (folder / "key").write_text(KEY)
    troubles = (
        "--noise",
        "real",
        "--fault=throttled=0.1",
        "--fault=failed=0.05",
        "--fault=malformed=0.05",
        "--retry-after",
        "0",
    )
    with collecting() as collector, fake("--key-file", str(folder / "key"), *troubles) as url:
        options = {"model": "openai", "base_url": url, "traces": collector.url}
        grow = command(folder / "out", conversations=2, quiet=True, **options)
        ended = run(grow, environment={"OPENAI_API_KEY": KEY, "SOLILOQUY_LOG_FORMAT": "json"})
        assert ended.returncode == 0, ended.stderr
        yield Seen(dataset=Dataset(folder / "out"), collector=collector, ended=ended)


def test_every_conversation_is_a_tree_without_a_gap(seen: Seen) -> None:
    conversations = list(seen.dataset)
    assert len(conversations) == 2
    for conversation in conversations:
        trace = seen.collector.traces[trace_of(conversation.id)]
        # A second attempt starts where the first one ended.
        begun_by = "conversation.collected" if conversation.attempt else "problem.submitted"
        assert root(trace).name == f"curriculum {begun_by}"
        assert (orphans(trace), gaps(trace)) == ([], [])
        assert trace[-1].service in ("collector", "curriculum")
        calls = [span for span in trace if span.name.startswith("model ")]
        taken_back = (turn for rewind in conversation.rewinds for turn in rewind.turns)
        asked = [call for turn in (*conversation.turns, *taken_back) for call in turn.calls]
        assert sum(span.attributes["gen_ai.usage.output_tokens"] for span in calls) == sum(
            call.completion_tokens for call in asked
        )
        assert {span.attributes["soliloquy.outcome"] for span in calls} == {"answered"}
        for span in calls:
            assert (
                span.attributes.items()
                >= {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": "openai",
                    "gen_ai.request.model": "scripted",
                    "gen_ai.response.model": "scripted",
                    "gen_ai.conversation.id": conversation.id,
                }.items()
            )
            assert span.attributes["gen_ai.usage.input_tokens"] > 0 <= span.attributes["gen_ai.request.temperature"]
    spans = seen.collector.spans
    assert any("fault" in span.events for span in spans)
    jobs = [span for span in spans if span.name == "sandbox job"]
    assert {span.attributes["soliloquy.lane"] for span in jobs} <= {"fast", "fork", "single-use"}
    assert jobs


def test_the_log_is_json_and_says_of_what_it_speaks(seen: Seen) -> None:
    assert seen.log
    for entry in seen.log:
        assert entry.keys() >= {"ts", "level", "service", "message"}
    assert any("is up after" in entry["message"] and entry["service"] == "worker" for entry in seen.log)


def test_nothing_that_was_said_and_no_key_is_in_a_log_line_or_in_a_span(seen: Seen) -> None:
    said = {KEY}
    for rejected in (False, True):
        for conversation in seen.dataset.conversations(rejected=rejected):
            said |= {conversation.problem.question, conversation.problem.solution}
            for turn in conversation.turns:
                said |= {turn.student.text, turn.tutor.text, turn.tutor.thoughts, turn.calculation.description}
                said |= {attempt.code for attempt in turn.calculation.attempts}
                said |= {raw for call in turn.calls for raw in call.raw}
    texts = {text for text in said if len(text) >= LEAST_CHARACTERS}
    # The prompt's frame around these texts.
    texts |= {line for prompt in PROMPTS.glob("*.txt") for line in prompt.read_text("utf-8").splitlines() if line[20:]}
    assert len(texts) > 100
    for where in (seen.ended.stderr.encode(), *seen.collector.bodies):
        assert [text for text in texts if text.encode() in where] == []


def test_spans_of_model_calls_quote_prompts_and_answers_when_told_to(tmp_path: Path) -> None:
    with collecting() as collector:
        generate = command(tmp_path / "out", conversations=1, quiet=True, traces=collector.url)
        ended = run(generate, environment={"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"})
        assert ended.returncode == 0, ended.stderr
    [conversation] = Dataset(tmp_path / "out")
    calls = [span for span in collector.traces[trace_of(conversation.id)] if span.name.startswith("model ")]
    quoted = [json.loads(span.attributes["gen_ai.output.messages"]) for span in calls]
    assert [answer["role"] for [answer] in quoted] == ["assistant"] * len(calls)
    told = [part["content"] for [answer] in quoted for part in answer["parts"]]
    assert set(told) >= {raw for turn in conversation.turns for call in turn.calls for raw in call.raw}
    for span, [answer] in zip(calls, quoted, strict=True):
        assert span.attributes["gen_ai.response.finish_reasons"] == [answer["finish_reason"]] == ["stop"]
        [*_, prompt] = json.loads(span.attributes["gen_ai.input.messages"])
        assert prompt["role"] == "user"
        assert prompt["parts"][0]["type"] == "text"
