"""The tables: conversations as their fields and tutor have them, and as our importer and truth check read them."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from soliloquy.recipes.agreement import agrees, code_verdict, letter_of
from soliloquy.recipes.reached_values import found_right, refutes
from soliloquy.recipes.soliloquy.codes import ACTIONS, STATE_LETTERS, WORDS
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.runtime.files import table_beside
from soliloquy.runtime.values import shown
from soliloquy.v1.conversation_pb2 import CodeAttempt, Conversation, Turn
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job
from soliloquy_papers.replication.published import Published, replication
from soliloquy_papers.replication.tables import Cell, Counts, Found, Table, beside_paper, mean, portion

_VERDICTS = "abc"
_RIGHT_OR_WRONG = re.compile(r"_(correct|wrong)\b")


@replication
def replicate(published: Published) -> Iterator[Table | Counts]:
    read = [*published.conversations("conversations", "soliloquies", ("conversations",))]
    problems = [row for _, row in published.rows("problems.json", ("Question",))]
    logs = [(place, one) for place, _, one in published.conversations("transcripts", "transcripts", ("messages",))]
    found: dict[str, Any] = {}
    turns = [turn for _, _, one in read for turn in one.turns]
    if read:
        messages = [message for _, row, _ in read for message in row["conversations"]]
        found["data"] = _data(messages, [one for _, _, one in read], len(problems))
        found["python"] = _python(published, messages, turns)
        found["codes"] = _codes(messages, turns)
        found["truth"] = _truth(messages, turns)
    if logs:
        found["experts"] = _experts(logs)
    yield from beside_paper(table_beside(__file__, "paper.toml"), found)
    if turns:
        yield _actions(turns)


def _values(messages: Iterable[dict[str, Any]], *speakers: str) -> list[Any]:
    return [message["value"] for message in messages if message["from"].endswith(speakers)]


def _replies(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [value for value in _values(messages, "_state") if isinstance(value, dict) and "Tutorbot Response" in value]


def _data(messages: Sequence[dict[str, Any]], conversations: Sequence[Conversation], problems: int) -> dict[str, Found]:
    turns = [turn for one in conversations for turn in one.turns]
    said, students = _replies(messages), _values(messages, "student")
    return {
        "problems": Found(problems, len({one.problem.question for one in conversations})),
        "conversations": Found(len(conversations), len(conversations)),
        "turns": Found(len(students) / len(conversations), len(turns) / len(conversations)),
        "student_words": Found(_words(map(str, students)), _words(turn.student.text for turn in turns)),
        "tutor_words": Found(
            _words(str(reply["Tutorbot Response"]) for reply in said), _words(turn.tutor.text for turn in turns)
        ),
    }


def _words(texts: Iterable[str]) -> float | None:
    return mean(len(text.split()) for text in texts if text.strip())


def _python(published: Published, messages: Sequence[dict[str, Any]], turns: Sequence[Turn]) -> dict[str, Found]:
    decided = [value for value in _values(messages, "deciding_state") if isinstance(value, dict)]
    fields = [
        value["Python"] for value in _values(messages, "use_python_state") if isinstance(value.get("Python"), dict)
    ]
    attempts = [attempt for turn in turns for attempt in turn.calculation.attempts]
    return {
        "used": Found(
            portion(value.get("Use Python") == "y" for value in decided),
            portion(turn.HasField("calculation") for turn in turns if turn.number > 1),
        ),
        "parse": Found(
            portion(_compiles(str(one.get("Python Code"))) for one in fields),
            portion(_compiles(attempt.code) for attempt in attempts),
        ),
        "same": Found(ours=_same_output(published, attempts)),
    }


def _compiles(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _same_output(published: Published, attempts: Sequence[CodeAttempt]) -> Cell:
    jobs = [Job(code=attempt.code, result_variables=attempt.result_variables) for attempt in attempts]
    if (done := published.run(jobs) if jobs else []) is None:
        return "not run"
    return portion(
        one.status == STATUS_OK and _lines(one) == [*_lines(attempt.execution), *attempt.execution.stdout.splitlines()]
        for attempt, one in zip(attempts, done, strict=True)
    )


def _lines(execution: Execution) -> list[str]:
    return [f"{named.name} = {shown(named.value)}" for named in execution.values]


def _codes(messages: Sequence[dict[str, Any]], turns: Sequence[Turn]) -> dict[str, Found]:
    replies, answered = _replies(messages), [turn for turn in turns if turn.HasField("tutor")]
    labels = [TutorLabels.FromString(turn.tutor.labels) for turn in answered]
    actions = {str(action) for known in ACTIONS.values() for action in known}
    evaluations, chosen, states = (
        [str(reply.get(key)) for reply in replies]
        for key in ("Evaluation of Student Response", "Action Based on Evaluation", "Step State")
    )
    return {
        "evaluation": Found(
            portion(letter in WORDS["evaluations"] for letter in evaluations), portion(map(letter_of, answered))
        ),
        "action": Found(portion(action in actions for action in chosen), portion(one.action for one in labels)),
        "state": Found(
            portion(state in WORDS["states"] for state in states),
            portion(one.state in STATE_LETTERS for one in labels),
        ),
        "fitting": Found(
            portion(
                action in {str(one) for one in ACTIONS[letter]}
                for letter, action in zip(evaluations, chosen, strict=True)
                if letter in ACTIONS and action in actions
            ),
            portion(
                one.action in ACTIONS[letter_of(turn)]
                for turn, one in zip(answered, labels, strict=True)
                if letter_of(turn) and one.action
            ),
        ),
    }


def _truth(messages: Sequence[dict[str, Any]], turns: Sequence[Turn]) -> dict[str, Found]:
    said = [
        letter
        for reply in _replies(messages)
        if (letter := str(reply.get("Evaluation of Student Response"))) in _VERDICTS
    ]
    called = [turn for turn in turns if turn.calculation.attempts and letter_of(turn) in [*_VERDICTS]]
    agreed = [agrees(turn, POLICY["agreeing"]) for turn in called]
    judged = [verdict for turn in turns if (verdict := _verdict(turn)) is not None]
    return {
        "judged": Found(ours=portion(one is not None for one in agreed)),
        "contradictions": Found(ours=portion(one is False for one in agreed if one is not None)),
        "wrong": Found(portion(letter == "a" for letter in said), portion(not verdict for verdict in judged)),
        "partly": Found(portion(letter == "c" for letter in said)),
    }


def _verdict(turn: Turn) -> bool | None:
    found = code_verdict(turn.calculation)
    return found_right(turn) if found is None else found


def _experts(logs: Sequence[tuple[str, Conversation]]) -> dict[str, Found]:
    """The first message asks the question; the second answers it as the name of the file says."""
    answered = [(_RIGHT_OR_WRONG.search(place), one.turns[1]) for place, one in logs if len(one.turns) > 1]
    attempts = [*chain.from_iterable(turn.calculation.attempts for _, one in logs for turn in one.turns)]
    told = [(name[1] == "correct", turn) for name, turn in answered if name]
    return {
        "usage": Found(ours=portion(turn.HasField("calculation") for _, turn in answered)),
        "non_usage": Found(ours=portion(not one.turns[0].HasField("calculation") for _, one in logs)),
        "compilation": Found(ours=portion(_compiles(attempt.code) for attempt in attempts)),
        "verification": Found(ours=portion(_finds(turn) is right for right, turn in told)),
    }


def _finds(turn: Turn) -> bool | None:
    found = _verdict(turn)
    return False if found is None and refutes(turn) else found


def _actions(turns: Iterable[Turn]) -> Counts:
    counted = Counter((letter_of(turn), TutorLabels.FromString(turn.tutor.labels).action) for turn in turns)
    heads = sorted({action for _, action in counted})
    rows = [
        (f"{letter} {words}", [counted[letter, action] for action in heads])
        for letter, words in (*WORDS["evaluations"].items(), ("", "none"))
        if any(counted[letter, action] for action in heads)
    ]
    return Counts(title="Evaluation by action", heads=[str(action or "none") for action in heads], rows=rows)
