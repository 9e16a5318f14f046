"""Annotations as Label Studio and Argilla write them, both ways."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from soliloquy.annotation.rows import Annotation
from soliloquy.annotation.scheme import Question, Scheme
from soliloquy.runtime.failure import Failure

Tasks = Mapping[str, Mapping[str, Any]]


class FileFormat(NamedTuple):
    """Writes tasks with their annotations, and reads annotations back; raises Failure for what it cannot read."""

    write: Callable[[Tasks, Sequence[Annotation], Scheme], list[dict[str, Any]]]
    read: Callable[[Sequence[Any], Scheme], Iterator[Annotation]]


def text_of(shown: Mapping[str, Any]) -> str:
    """Returns all that a task shows as one text, for programs that know no dialogues."""
    lines = [str(shown.get("question", ""))]
    lines += [f"{part.capitalize()}: {shown[part]}" for part in ("solution", "answer") if shown.get(part)]
    for number, side in enumerate([shown.get("messages", []), *shown.get("sides", [])]):
        lines += [f"Side {number}"] if number else []
        lines += [f"{said['role'].capitalize()}: {said['text']}" for said in side]
    if program := shown.get("program"):
        lines += [program["code"], program["output"]]
    return "\n\n".join(line for line in lines if line)


def label_studio_config(scheme: Scheme) -> str:
    """Returns the labelling interface of a Label Studio project for a scheme."""
    parts = [_asked(one) for one in scheme.questions]
    return "\n".join(["<View>", '  <Text name="text" value="$text"/>', *(f"  {part}" for part in parts), "</View>"])


def _asked(question: Question) -> str:
    name = f'name="{question.name}" toName="text"'
    required = ' required="true"' if question.required else ""
    head = f"<Header value={quoteattr(question.asks)}/>"
    match question.kind:
        case "label":
            choice = "multiple" if question.several else "single"
            labels = "".join(f'<Choice value="{one.name}" alias="{one.name}"/>' for one in question.labels)
            return f'{head}<Choices {name} choice="{choice}"{required}>{labels}</Choices>'
        case "scale":
            return f'{head}<Rating {name} maxRating="{question.most}"{required}/>'
        case "span":
            labels = "".join(f'<Label value="{one.name}"/>' for one in question.labels)
            return f"{head}<Labels {name}{required}>{labels}</Labels>"
        case _:
            return f"{head}<TextArea {name}{required}/>"


def _write_label_studio(tasks: Tasks, annotations: Sequence[Annotation], scheme: Scheme) -> list[dict[str, Any]]:
    known = {one.name: one for one in scheme.questions}
    return [
        {
            "data": {"item": item, "text": text_of(shown)},
            "annotations": [
                {
                    "completed_by": {"email": one.annotator},
                    "lead_time": one.seconds,
                    "created_at": datetime.fromtimestamp(one.at, UTC).isoformat(),
                    "ground_truth": one.round == "gold",
                    "result": [result for name, value in one.values.items() for result in _results(known[name], value)],
                }
                for one in annotations
                if one.item == item
            ],
        }
        for item, shown in tasks.items()
    ]


def _results(question: Question, value: Any) -> Iterator[dict[str, Any]]:
    named = {"from_name": question.name, "to_name": "text"}
    match question.kind:
        case "label":
            yield named | {"type": "choices", "value": {"choices": value if question.several else [value]}}
        case "scale":
            yield named | {"type": "rating", "value": {"rating": value}}
        case "span":
            for span in value:
                marked = {"start": span["start"], "end": span["end"], "labels": [span["label"]]}
                yield named | {"type": "labels", "value": marked}
        case _:
            yield named | {"type": "textarea", "value": {"text": [value]}}


def _read_label_studio(rows: Sequence[Any], scheme: Scheme) -> Iterator[Annotation]:
    known = {one.name: one for one in scheme.questions}
    for task in rows:
        for given in task["annotations"]:
            values: dict[str, Any] = {}
            for result in given["result"]:
                question, value = known[result["from_name"]], result["value"]
                match question.kind:
                    case "label":
                        values[question.name] = value["choices"] if question.several else value["choices"][0]
                    case "scale":
                        values[question.name] = value["rating"]
                    case "span":
                        span = {"start": value["start"], "end": value["end"], "label": value["labels"][0]}
                        values.setdefault(question.name, []).append(span)
                    case _:
                        values[question.name] = "\n".join(value["text"])
            by = given["completed_by"]
            yield Annotation(
                item=str(task["data"]["item"]),
                annotator=str(by["email"] if isinstance(by, Mapping) else by),
                scheme=scheme.name,
                values=values,
                seconds=given.get("lead_time") or 0.0,
                at=datetime.fromisoformat(given["created_at"]).timestamp() if given.get("created_at") else 0.0,
                round="gold" if given.get("ground_truth") else "annotation",
            )


def _write_argilla(tasks: Tasks, annotations: Sequence[Annotation], scheme: Scheme) -> list[dict[str, Any]]:
    rows = []
    for item, shown in tasks.items():
        responses: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in annotations:
            for name, value in one.values.items() if one.item == item else ():
                responses[name].append({"value": value, "user_id": one.annotator, "status": "submitted"})
        rows.append({"id": item, "fields": {"text": text_of(shown)}, "metadata": {}, "responses": dict(responses)})
    return rows


def _read_argilla(rows: Sequence[Any], scheme: Scheme) -> Iterator[Annotation]:
    for record in rows:
        said: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for name, responses in record["responses"].items():
            for one in responses:
                # Drafts and discarded answers are nobody's word.
                if one.get("status", "submitted") == "submitted":
                    said[str(one["user_id"])][name] = one["value"]
        for annotator, values in said.items():
            yield Annotation(item=str(record["id"]), annotator=annotator, scheme=scheme.name, values=values)


FORMATS: Mapping[str, FileFormat] = {
    "label-studio": FileFormat(_write_label_studio, _read_label_studio),
    "argilla": FileFormat(_write_argilla, _read_argilla),
}


def read_foreign(rows: Any, scheme: Scheme, name: str) -> list[Annotation]:
    """Returns annotations of another program's file, each checked by the scheme; raises Failure."""
    try:
        found = list(FORMATS[name].read(rows, scheme))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Failure(
            f"this is no export of {name} for the scheme {scheme.name} ({type(error).__name__}: {error})"
        ) from error
    for one in found:
        if fault := scheme.fault(one.values):
            raise Failure(f"{one.item} by {one.annotator}: {fault}")
    return found
