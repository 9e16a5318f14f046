"""Writes the dataset card: a README.md with the figures of a dataset, as the Hugging Face hub expects it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import Template
from typing import Any

from soliloquy.dataset.answer_fates import SENT_BACK, STANDS, TAKEN_BACK
from soliloquy.dataset.figures import all_figures
from soliloquy.dataset.labelling import title_of
from soliloquy.dataset.manifest import MANIFEST, OPTIONS
from soliloquy.dataset.manner import REACTIONS
from soliloquy.dataset.mending_counts import MendingCounts
from soliloquy.dataset.statistics import LETTERS, Statistics
from soliloquy.dataset.tables import counts, estimate, plain, share, table
from soliloquy.recipes.labels import columns_of
from soliloquy.runtime.model.costs import KINDS
from soliloquy.runtime.model.settings_file import MODELS

CARD = "README.md"
_SECTIONS = [Template(text) for text in Path(__file__).with_name("card.md").read_text("utf-8").split("\n## ")]
_MODELS = "Student and tutor are both models: real students may have these misconceptions more or less often."
_TAUGHT = "People tutored, and the student is a model: real students may have these misconceptions more or less often."
_PERSONS = "When a person was the student, no intent, persona or kind of mistake was drawn."
# The names of sizes on the hub, by what a dataset of this size has fewer conversations than.
_SIZES = ((1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"), (1e9, "1M<n<1B"))
_REJECTED = '- config_name: rejected\n  data_files: "rejected/*.parquet"\n'
# The facts of a service that the card tells.
_TOLD = ("version", "image", "model", "noise")


@dataclass(frozen=True, kw_only=True)
class DatasetSummary:
    """The content of a card, without times: the same dataset always has the same card."""

    manifest: Mapping[str, Any]
    accepted: Statistics
    rejected: Statistics


def card(summary: DatasetSummary) -> str:
    kept, dropped = summary.accepted, summary.rejected
    mended = kept.mending
    command, note = again(summary)
    parts = {
        "language": summary.manifest["run"].get("language") or "en",
        "size": next(name for most, name in _SIZES if kept.conversations < most),
        "rejected": _REJECTED if dropped.conversations else "",
        "title": plain(title(kept)),
        "story": kept.recipe.story,
        "figures": table(("", ""), figures(kept, dropped)),
        "papers": "\n\n".join(_papers(kept, dropped)),
        "endings": counts("ending", kept.endings),
        "resolved": counts("resolved", kept.resolutions),
        "manner": table(("", ""), kept.manner.figures()),
        "reactions": table(("after the tutor's", *REACTIONS), kept.manner.reactions()),
        "reasons": counts("rejected because of", dropped.reasons),
        "lengths": counts("turns", dict(sorted(kept.lengths.items()))),
        "intents": counts("drawn", kept.intents),
        "personas": counts("student", kept.personas),
        "tutors": counts("tutor", kept.tutors),
        "topics": counts("topic", kept.topics),
        "responses": _responses(kept),
        "labels": "\n\n".join(_labels(kept)),
        "annotated": table(("scheme", "question", "items", "annotators", "Krippendorff's alpha"), _annotated(summary)),
        "sent_back": counts("rule", Counter({f"{role}: {rule}": n for (role, rule), n in mended.sent_back.items()})),
        "first_tries": _first_tries(mended),
        "spent": _spent(kept, dropped),
        "programs": counts("program", kept.statuses),
        "errors": counts("failed with", kept.errors),
        "verdicts": _by_evaluation(
            kept, "found", kept.verdicts, {found: found for found in sorted({found for _, found in kept.verdicts})}
        ),
        "models": table(
            ("role", "engine", "model", "adapter", "answers"),
            [(*names, f"{count:,}") for names, count in sorted(kept.models.items())],
        ),
        "services": table(("service", *_TOLD, "conversations", "digest"), _services(summary)),
        "parse": counts("read", kept.parse),
        "tokens": table(
            ("role", "prompt tokens", "from a cache", "written into it", "completion tokens", "thoughts"),
            [
                (role, *(f"{kept.tokens[role, kind]:,}" for kind in KINDS))
                for role in sorted({role for role, _ in kept.tokens})
            ],
        ),
        # On one line, so that no name ends the block.
        "again": f"```sh\n{' '.join(command.splitlines())}\n```\n\n{note}" if command else note,
        "run": table(("", ""), settings(summary)),
        "hashes": table(("file", "sha256"), hashes(summary)),
        "limits": "\n".join(f"- {limit}" for limit in limits(summary)),
    }
    # Leaves out sections without any rows.
    empty = {name for name, part in parts.items() if not part.strip()}
    shown = (one for one in _SECTIONS if not (slots := one.get_identifiers()) or not empty.issuperset(slots))
    text = "\n## ".join(section.substitute(parts) for section in shown)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


def _first_tries(mending: MendingCounts) -> str:
    """Returns a table only where answers were sent back."""
    rows = [
        (*answerer, f"{count:,}", share(mending.stood[answerer], count)) for answerer, count in mending.first.items()
    ]
    return table(("role", "model", "answers", "right at the first try"), sorted(rows)) if mending.sent_back else ""


def _spent(kept: Statistics, dropped: Statistics) -> str:
    """Returns the tokens of a kept conversation by prompt and by what became of the answers; only where some went."""
    if not kept.mending.sent_back and not dropped.conversations:
        return ""
    size, fates = max(kept.conversations, 1), (STANDS, SENT_BACK, TAKEN_BACK)
    rows = []
    for prompt in [*sorted(kept.mending.prompts() | dropped.mending.prompts()), ""]:
        spent = [kept.mending.spent(fate, prompt=prompt) for fate in fates]
        spent.append(dropped.mending.spent(*fates, prompt=prompt))
        rows.append((prompt or "all", *(f"{tokens / size:,.0f}" for tokens in spent)))
    return table(("tokens a kept conversation", *fates, "not kept"), rows)


def _papers(kept: Statistics, dropped: Statistics) -> Iterator[str]:
    """Yields the section of each recipe's paper, below the heading of the card's own figures."""
    for figures in all_figures(kept, dropped):
        if compared := table(("", "here", figures.paper), figures.beside(kept, dropped)):
            yield f"## Beside {figures.paper}\n\n{compared}\n\n{figures.note}"


def title(kept: Statistics) -> str:
    origins = sorted(filter(None, kept.origins))
    about = ", ".join(origins) if len(origins) <= 3 else "several collections of"
    if not origins or kept.recipe.topics:
        return kept.recipe.title
    # Files have a suffix, banks a name that reads as an adjective.
    are_files = len(origins) <= 3 and any("." in origin for origin in origins)
    return f"{kept.recipe.title} on " + (f"the problems of {about}" if are_files else f"{about} problems")


def thing(kept: Statistics) -> str:
    """Returns the plural noun for the rows of a dataset."""
    return "problems" if kept.recipe.topics else "conversations"


def figures(kept: Statistics, dropped: Statistics) -> list[tuple[str, str]]:
    verdicts, supported, mended = kept.judged, kept.verification.total(), kept.mending
    back = mended.spent(SENT_BACK, TAKEN_BACK)
    spoken: list[tuple[str, str]] = []
    if kept.words:
        spoken = [
            ("turns", f"{kept.turns:,}"),
            ("turns a conversation", f"{kept.turns / max(kept.conversations, 1):.1f}"),
            ("problems", f"{len(kept.problems):,}"),
            *kept.dialogue_measures(),
            *kept.resolution_measures(),
            ("words an utterance, student", f"{kept.words_per_utterance('student'):.1f}"),
        ]
    if kept.teachers:
        spoken += [
            ("teachers, each under a pseudonym", f"{len(kept.teachers):,}"),
            ("minutes a teacher spent on a dialogue, median", f"{median(kept.teaching_seconds) / 60:.1f}"),
        ]
    # Shares, and whether the dataset has what they are of.
    shares: list[tuple[str, int, int, object]] = [
        ("with a person as the student", kept.persons, kept.conversations, kept.persons),
        ("with a person as the tutor", kept.teachers.total(), kept.conversations, kept.teachers),
        ("turns with Python", kept.python_turns, kept.turns, True),
        ("calculations that ran at the first attempt", kept.attempts[1], kept.attempts.total(), True),
        ("programs that ran", kept.statuses["ok"], kept.statuses.total(), True),
        ("evaluations that agree with the program's verdict", kept.agreeing, verdicts, verdicts),
        ("turns with an answer that was mended", mended.mended_turns, kept.turns, mended.sent_back),
        ("tokens of answers sent or taken back", back, kept.all_tokens, back),
        ("verdicts that nothing verified", kept.verification["none"], supported, supported),
        ("student's replies meant to be wrong", kept.intents["wrong"], kept.replies, kept.words),
    ]
    return [
        (thing(kept), f"{kept.conversations:,}"),
        ("generated but not kept", f"{dropped.conversations:,}"),
        *spoken,
        *((name, share(part, whole)) for name, part, whole, is_shown in shares if is_shown),
    ]


def again(summary: DatasetSummary) -> tuple[str, str]:
    """Returns the command that generates the same conversations again, or an empty string, and a note about it."""
    run = summary.manifest["run"]
    if "curated" in run:
        return "", f"It was curated from `{plain(str(run['curated'].get('dataset')))}` by `soliloquy curate`."
    if not (options := summary.manifest.get(OPTIONS)):
        return "", "The command is unknown: the run is still going on, or the conversations were imported."
    words = [word for name in options for word in _option(name, options[name])]
    # The manifest is a run file. A table of models fits on no command line, and the query of a URL may hold a key.
    if MODELS in options or "?" in options.get("base_url", ""):
        words = [MANIFEST]
    note = "All random draws follow from the seed."
    if not is_scripted(summary.accepted):
        note += " A language model may answer differently each time; problems, prompts and draws stay the same."
    return shlex.join(["soliloquy", "generate", *words, "--out", "again"]), note


def _option(name: str, value: object) -> tuple[str, ...]:
    flag = f"--{name.replace('_', '-')}"
    return (flag,) if value is True else (flag, str(value))


def settings(summary: DatasetSummary) -> list[tuple[str, str]]:
    """Returns the settings of the run from the manifest, except tables and empty values."""
    run = summary.manifest["run"]
    return [
        (name.replace("_", " "), {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value))
        for name, value in run.items()
        if not isinstance(value, dict) and value != ""
    ]


def _services(summary: DatasetSummary) -> Iterator[tuple[str, ...]]:
    for row in summary.manifest.get("arrival", {}).get("services", ()):
        told = row | row.get("settings", {})
        facts = (str(told.get(name, "")) for name in _TOLD)
        yield (str(row["service"]), *facts, f"{row['conversations']:,}", row["digest"])


def _annotated(summary: DatasetSummary) -> Iterator[tuple[str, ...]]:
    for scheme in summary.manifest["run"].get("annotated", ()):
        people = f"{scheme['items']:,}", f"{scheme['annotators']:,}"
        for question, alpha in scheme["alpha"].items():
            yield scheme["title"], question, *people, estimate(alpha)


def hashes(summary: DatasetSummary) -> list[tuple[str, str]]:
    """Returns the hash of each file of prompts and of the contract."""
    run = summary.manifest["run"]
    hashed = [run.get(f"{kind}_sha256", {}) for kind in ("prompts", "protos")]
    return [
        row
        for digests in hashed
        for row in (sorted(digests.items()) if isinstance(digests, dict) else [("protos", digests)])
    ]


def limits(summary: DatasetSummary) -> list[str]:
    kept = summary.accepted
    own = (figures.limit for figures in all_figures(kept, summary.rejected))
    known = [
        *([_PERSONS if kept.persons else _TAUGHT if kept.teachers else _MODELS] if kept.words else filter(None, own)),
        "A number that a program checked is only as right as the program; all other statements are unproven.",
    ]
    if is_scripted(kept):
        known.insert(
            0,
            "The model is scripted: it follows rules and uses the words of its phrase files. That exercises the "
            "system; a dataset worth training on needs a language model.",
        )
    return known


def is_scripted(kept: Statistics) -> bool:
    return any(engine == "scripted" for _, engine, *_ in kept.models)


def _responses(kept: Statistics) -> str:
    meanings = response_meanings(kept)
    named = {response: f"{response} {meanings.get(response, '')}" for response in responses_of(kept)}
    return _by_evaluation(kept, "response", kept.responses, named)


def _by_evaluation(kept: Statistics, head: str, counted: Counter[tuple[str, str]], named: Mapping[str, str]) -> str:
    """Returns a table with a column for each evaluation that occurs, and a row for each of the named values."""
    words = evaluations_in(counted)
    letters = (f"{LETTERS[word]} {kept.recipe.evaluations[LETTERS[word]]}" for word in words)
    rows = [(name, *(f"{counted[word, value] or ''}" for word in words)) for value, name in named.items()]
    return table((head, *letters), rows)


def evaluations_in(counted: Counter[tuple[str, str]]) -> list[str]:
    return [word for word in LETTERS if any(evaluation == word for evaluation, _ in counted)]


def responses_of(kept: Statistics) -> list[str]:
    """Returns the tutor's responses, numbers in numerical order."""
    return sorted({response for _, response in kept.responses}, key=lambda response: (len(response), response))


def response_meanings(kept: Statistics) -> Mapping[str, str]:
    return next((column.words for column in columns_of(kept.recipe_name).values() if column.response), {})


def _labels(kept: Statistics) -> Iterator[str]:
    for name, counted in kept.labels.items():
        if counted:
            title = f"{name.partition('.')[0]}: {title_of(kept.recipe_name, name)}"
            yield counts(title, dict(sorted(counted.items(), key=_by_number)))


def _by_number(counted: tuple[str, int]) -> tuple[int, str]:
    """Sorts numbers by size, and words by frequency."""
    value, count = counted
    return (int(value), "") if value.lstrip("-").isdecimal() else (-count, value)
