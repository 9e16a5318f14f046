"""Preferences for TRL: pairs.jsonl for its DPO trainer, labelled.jsonl for its KTO trainer."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from soliloquy.dataset.exports.files import open_rows
from soliloquy.dataset.exports.format import ExportOptions, FolderFormat, Row
from soliloquy.dataset.exports.preferences import Pair, pairs
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure

PAIRS, LABELLED = "pairs", "labelled"
_SUFFIX = ".jsonl"


def export(dataset: Dataset, place: Path, choice: ExportOptions, shares: Splits | None, rejected: bool) -> Counter[str]:
    """Counts the unfit answers of each part, with a pair or without."""
    parts = [f"{part}/" for part in shares.of] if shares else [""]
    written = Counter(dict.fromkeys((part.rstrip("/") or PAIRS for part in parts), 0))
    with ExitStack() as stack:
        files = {}
        for part in parts:
            (place / part).mkdir(parents=True)
            for kind in (PAIRS, LABELLED):
                files[part + kind] = stack.enter_context(open_rows(place / part / f"{kind}{_SUFFIX}", _SUFFIX))
        for conversation in dataset.conversations(rejected=rejected):
            about = conversation.problem.id or conversation.problem.question or conversation.id
            part = f"{shares.part(about)}/" if shares else ""
            praised = set[tuple[int, str, str]]()
            for pair in pairs(conversation):
                if not pair.certain and not choice.uncertain:
                    continue
                if pair.chosen:
                    files[part + PAIRS](_row(pair, conversation.id))
                for row in _labelled(pair, conversation.id, praised):
                    files[part + LABELLED](row)
                written[part.rstrip("/") or PAIRS] += 1
    return written


def _row(pair: Pair, conversation: str) -> Row:
    return {
        **_asked(pair),
        "chosen": _answered(pair.chosen),
        "rejected": _answered(pair.rejected),
        **_about(pair, conversation),
        "rule": pair.rule,
        "evidence": pair.evidence,
        "certain": pair.certain,
    }


def _labelled(pair: Pair, conversation: str, praised: set[tuple[int, str, str]]) -> Iterator[Row]:
    """Yields an answer that stands once, however many were sent back before it."""
    about = _about(pair, conversation)
    key = (pair.turn, pair.prompt.name, pair.chosen)
    if pair.chosen and key not in praised:
        praised.add(key)
        yield {**_asked(pair), "completion": _answered(pair.chosen), "label": True, **about, "evidence": ""}
    yield {**_asked(pair), "completion": _answered(pair.rejected), "label": False, **about, "evidence": pair.evidence}


def _asked(pair: Pair) -> Row:
    return {"prompt": [{"role": role, "content": text} for role, text in pair.prompt.said]}


def _answered(text: str) -> list[Row]:
    return [{"role": "assistant", "content": text}]


def _about(pair: Pair, conversation: str) -> Row:
    return {"state": pair.state, "asked": pair.prompt.name, "conversation": conversation, "turn": pair.turn}


def read(folder: Path) -> Iterator[bytes]:
    raise Failure(f"{folder}: preferences hold single answers and no conversations: they cannot be imported")


FORMAT = FolderFormat(
    title="answers that rules sent back, with those in their place, for TRL's DPO and KTO trainers (a folder)",
    export=export,
    read=read,
    wants="an answer that a rule certainly found unfit and that was mended",
    has_evidence=True,
)
