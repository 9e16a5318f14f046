"""Converts a conversation to what a reader sees, for the report and the console alike."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, students, word
from soliloquy.dataset.labelling import described_labels, label_texts, label_values, title_of
from soliloquy.dataset.rows import recipe_of, rows
from soliloquy.dataset.statistics import LETTERS
from soliloquy.dataset.values import shown_values
from soliloquy.recipes.labels import columns_of, labels_of
from soliloquy.recipes.recipe import Recipe
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, Turn
from soliloquy.v1.gateway_pb2 import Flag
from soliloquy.v1.runs_pb2 import Run


def conversation_view(
    conversation: Conversation, *, reasons: Sequence[str] | None = None, flags: Iterable[Flag] = ()
) -> dict[str, Any]:
    """Returns one conversation as the viewer draws it, with its model calls; `reasons` is None where it was accepted.

    A flag names its turn by number; one without a number belongs to the first turn.
    """
    view: dict[str, Any] = unfold(columns(rows([conversation.SerializeToString()], conversation.run.recipe)))[0]
    view["reasons"] = None if reasons is None else list(reasons)
    found = list(flags)
    for turn, shown in zip(conversation.turns, view["turns"], strict=True):
        shown["calls"] = [_call(call) for call in turn.calls]
        shown["flags"] = [{"claim": one.claim, "evidence": one.evidence} for one in found if one.turn == turn.number]
    return view


def turn_view(turn: Turn, recipe: str) -> dict[str, Any]:
    shown: dict[str, Any] = conversation_view(Conversation(run=Run(recipe=recipe), turns=[turn]))["turns"][0]
    return shown


def unfold(column: Any) -> Any:
    """Turns what `columns` returns into one object per conversation."""
    if column is None or isinstance(column, list):
        return column
    if "n" in column:
        values = iter(unfold(column["of"]))
        return [list(islice(values, length)) for length in column["n"]]
    fields = {name: unfold(values) for name, values in column.items()}
    length = len(next(iter(fields.values())))
    return [{name: values[row] if values else None for name, values in fields.items()} for row in range(length)]


def columns(batch: pa.RecordBatch) -> dict[str, Any]:
    """Returns the values of each field for all rows; a list field has the length in each row (n) and all items (of)."""
    problem = batch["problem"]
    turns = pc.list_flatten(batch["turns"])
    student, tutor, calculation = (below(turns, name) for name in ("student", "tutor", "calculation"))
    enrichment = below(problem, "enrichment")
    return {
        **{name: batch[name].to_pylist() for name in ("id", "ordinal", "attempt", "tutor_persona", "ending_reason")},
        "persona": _students(batch),
        "ending": named(batch["ending"], "ENDING_").to_pylist(),
        "reasons": _listed(batch["reasons"]) if "reasons" in batch.schema.names else None,
        **{name: below(problem, name).to_pylist() for name in ("topic", "source", "question", "solution")},
        "outline": below(enrichment, "outline").to_pylist(),
        "parts": _parts(batch),
        "rewinds": _records(batch["rewinds"], "rule", "because"),
        "turns": {
            "n": pc.list_value_length(batch["turns"]).to_pylist(),
            "of": {
                "student": below(student, "text").to_pylist(),
                "intent": named(below(student, "intent"), "INTENT_").to_pylist(),
                "drawn": _drawn(batch, named(below(student, "intent"), "INTENT_").to_pylist()),
                "rejected": _records(pc.struct_field(turns, "rejected"), "role", "rule", "text", "because"),
                "description": below(calculation, "description").to_pylist(),
                "attempts": _attempts(pc.struct_field(calculation, "attempts")),
                "thoughts": below(tutor, "thoughts").to_pylist(),
                "tutor": below(tutor, "text").to_pylist(),
                "evaluation": named(below(tutor, "evaluation"), "EVALUATION_").to_pylist(),
                "verification": named(below(turns, "verification"), "VERIFICATION_").to_pylist(),
                "response": _response(batch),
                "labels": _labels(batch),
                "model": _models(pc.struct_field(turns, "calls")),
            },
        },
    }


def words_of(name: str, recipe: Recipe) -> dict[str, Any]:
    meanings = {column.title: column.words for column in columns_of(name).values() if column.words}
    return {"letters": LETTERS, "evaluations": recipe.evaluations, "labels": meanings, "agreeing": recipe.agreeing}


def _attempts(attempts: pa.Array) -> dict[str, Any]:
    code = below(attempts.flatten(), "code")
    execution = below(attempts.flatten(), "execution")
    values = pc.struct_field(execution, "values")
    return {
        "n": _lengths(attempts),
        "of": {
            "code": code.to_pylist(),
            "status": named(below(execution, "status"), "STATUS_").to_pylist(),
            **{name: below(execution, name).to_pylist() for name in ("error", "error_line", "stdout")},
            "recomputed": _listed(pc.struct_field(execution, "recomputed")),
            "values": {
                "n": _lengths(values),
                "of": {
                    "name": below(values.flatten(), "name").to_pylist(),
                    "shown": shown_values(below(values.flatten(), "value")),
                },
            },
        },
    }


def _models(calls: pa.Array) -> list[str | None]:
    """Returns the model that answered last in each turn."""
    named_models = below(calls.flatten(), "model")
    lengths = pc.fill_null(pc.list_value_length(calls), 0)
    last = pc.if_else(pc.greater(lengths, 0), pc.subtract(pc.cumulative_sum(lengths), 1), None)
    models: list[str | None] = named_models.take(last).to_pylist()
    return models


def _students(batch: pa.RecordBatch) -> list[str | None]:
    """Returns the name of each student if the recipe gives one, else as `students` does."""
    shown: list[str | None] = students(batch).to_pylist()
    for name, column in columns_of(recipe_of(batch)).items():
        if column.names_student:
            named_so = zip(shown, label_texts(batch, name, "{}"), batch["person"].to_pylist(), strict=True)
            shown = [student if person else given or student for student, given, person in named_so]
    return shown


def _drawn(batch: pa.RecordBatch, intents: list[str | None]) -> list[str]:
    """Says what was drawn for each message before the student spoke."""
    drawn = [f"meant {intent}" if intent in ("right", "wrong") else intent or "" for intent in intents]
    for column, values in described_labels(batch):
        if column.drawn:
            for place, value in enumerate(values.to_pylist()):
                drawn[place] = column.drawn.format(value) if value else drawn[place]
    return drawn


def _response(batch: pa.RecordBatch) -> list[str | None] | None:
    """Returns how the tutor responds, for recipes that have a word for it."""
    responses = next((values.to_pylist() for column, values in described_labels(batch) if column.response), None)
    return responses and [None if word is None or word.isdecimal() else word for word in responses]


def _labels(batch: pa.RecordBatch) -> dict[str, list[str | None]] | None:
    """Returns the labels of each turn and of its reply in words, by their titles."""
    recipe = recipe_of(batch)
    single = [name for name, _ in labels_of(recipe).values()]
    return {
        title_of(recipe, name): values.to_pylist()
        for name, values in label_values(batch)
        if name.startswith(("tutor.", "turn.")) and name in single
    } or None


def _parts(batch: pa.RecordBatch) -> dict[str, Any] | None:
    """Returns the texts that belong to a whole conversation, such as a plan, each with its title."""
    reasons = below(batch["problem"], "enrichment", "plain_because").to_pylist()
    shown = [[("Not enriched", reason)] if reason else [] for reason in reasons]
    for parts, programs in zip(shown, _programs(batch), strict=True):
        if programs:
            parts.append(("Independent programs", programs))
    for name, column in columns_of(recipe_of(batch)).items():
        if column.text:
            for parts, text in zip(shown, label_texts(batch, name, column.text), strict=True):
                if text:
                    parts.append((column.title, text))
    if not any(shown):
        return None
    titles, texts = zip(*chain.from_iterable(shown), strict=True)
    return {"n": list(map(len, shown)), "of": {"title": list(titles), "text": list(texts)}}


def _programs(batch: pa.RecordBatch) -> list[str]:
    """Returns what the independent programs of each problem came to."""
    programs = pc.struct_field(batch["problem"], ["enrichment", "programs"])
    execution = below(programs.flatten(), "execution")
    values = pc.struct_field(execution, "values")
    shown = iter(shown_values(below(values.flatten(), "value")))
    errors = below(execution, "error").to_pylist()
    results = (
        ", ".join(islice(shown, length)) or error for length, error in zip(_lengths(values), errors, strict=True)
    )
    return ["; ".join(islice(results, length)) for length in _lengths(programs)]


def _records(lists: pa.Array, *names: str) -> dict[str, Any] | None:
    """Returns some fields of a list of messages."""
    records = lists.flatten()
    if not len(records):
        return None
    return {"n": _lengths(lists), "of": {name: below(records, name).to_pylist() for name in names}}


def _listed(lists: pa.Array) -> dict[str, Any]:
    return {"n": _lengths(lists), "of": pc.list_flatten(lists).to_pylist()}


def _lengths(lists: pa.Array) -> list[int]:
    lengths: list[int] = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    return lengths


def _call(call: ModelCall) -> dict[str, Any]:
    facts = (
        call.model,
        word(ParseOutcome.Name(call.outcome), "PARSE_OUTCOME_") if call.outcome else "",
        f"{call.prompt_tokens} + {call.completion_tokens} tokens",
        f"{call.seconds:.2f} s" if call.seconds else "",
    )
    told = " · ".join(filter(None, facts))
    thoughts = [thought for thought in call.reasoning if thought]
    return {"role": call.role, "raw": list(call.raw), "thoughts": thoughts, "prompt": call.prompt, "told": told}
