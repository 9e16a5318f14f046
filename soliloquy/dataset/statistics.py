"""Counts what the card and the report show of a dataset, batch by batch."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import (
    ANSWERED_BY,
    below,
    call_counts,
    named,
    problems,
    uncounted_enrichments,
    value_counts,
    word,
)
from soliloquy.dataset.durations import Histogram, binned
from soliloquy.dataset.enrichments import CountedEnrichments
from soliloquy.dataset.labelling import installed, label_values
from soliloquy.dataset.manner import Manner
from soliloquy.dataset.mending_counts import MendingCounts
from soliloquy.dataset.program_verdicts import verdicts
from soliloquy.dataset.recipe_counts import recipe_counts
from soliloquy.dataset.rows import recipe_of
from soliloquy.dataset.tables import share
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.labels import columns_of
from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.recipes.seat import TEACHER, TeacherNotes
from soliloquy.runtime.model.costs import KINDS
from soliloquy.texts.utterances import bigram_entropy, uptake, words
from soliloquy.v1.conversation_pb2 import Evaluation

# By the words that `named` returns.
LETTERS = {word(Evaluation.Name(code), "EVALUATION_"): letter for letter, code in EVALUATIONS.items()}
# "physics/free_fall#17": the bank and its family.
_FAMILY = r"^(?P<bank>[^/:#]+)/(?P<family>[^/:#]+)(?:#.*)?$"
_EXCEPTION = re.compile(r"[A-Za-z_.]+(?=: |$)")


@dataclass(kw_only=True)
class Statistics:
    conversations: int = 0
    recipes: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    topics: Counter[str] = field(default_factory=Counter)
    personas: Counter[str] = field(default_factory=Counter)
    tutors: Counter[str] = field(default_factory=Counter)
    # Conversations with a person as the student.
    persons: int = 0
    # Dialogues by the pseudonym of the person who tutored, and the seconds that each took.
    teachers: Counter[str] = field(default_factory=Counter)
    teaching_seconds: list[float] = field(default_factory=list)
    # By id, or by question for problems without an id.
    problems: Counter[str] = field(default_factory=Counter)
    # The banks and files from which the problems come.
    origins: Counter[str] = field(default_factory=Counter)
    # Conversations by number of turns, and utterances by speaker and number of words.
    lengths: Counter[int] = field(default_factory=Counter)
    words: Counter[tuple[str, int]] = field(default_factory=Counter)
    # Messages of the student that the tutor replied to.
    pairs: int = 0
    # Pairs whose message has words to take up, and the sum of the shares taken up.
    uptakes: int = 0
    taken_up: float = 0.0
    # In bits, summed over the tutor's utterances.
    entropy: float = 0.0
    intents: Counter[str] = field(default_factory=Counter)
    # The values of each field of the labels, by its name: `tutor.action`.
    labels: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    mending: MendingCounts = field(default_factory=MendingCounts)
    # How students and tutors talk, in the first conversations.
    manner: Manner = field(default_factory=Manner)
    # By evaluation and response, for recipes with a label that says how the tutor responds.
    responses: Counter[tuple[str, str]] = field(default_factory=Counter)
    # How conversations were resolved, for recipes that say so.
    resolutions: Counter[str] = field(default_factory=Counter)
    python_turns: int = 0
    # Calculations by number of attempts.
    attempts: Counter[int] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    # Failed programs, by exception or status.
    errors: Counter[str] = field(default_factory=Counter)
    # By the tutor's evaluation and the code's verdict on the student's number.
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    # The tutor's verdicts by what supports them: "program", "step" or "none".
    verification: Counter[str] = field(default_factory=Counter)
    parse: Counter[str] = field(default_factory=Counter)
    # By role and kind.
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Calls by role, engine, model and adapter's digest.
    models: Counter[tuple[str, ...]] = field(default_factory=Counter)
    # The recipes' own counts, by recipe.
    own: dict[str, Any] = field(default_factory=dict)
    enrichments: CountedEnrichments = field(default_factory=CountedEnrichments)
    # Conversations by the rules for which they were rejected; one may have several.
    reasons: Counter[str] = field(default_factory=Counter)
    # Conversations by bank and family, for problems of a bank, and by the number of steps of the problem's solution.
    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    steps: Counter[int] = field(default_factory=Counter)
    # Replies by the tutor's evaluation of the message.
    evaluations: Counter[str] = field(default_factory=Counter)
    # Tokens that a call reads and writes, and that all calls of a conversation do, in bins.
    token_lengths: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def all_tokens(self) -> int:
        return sum(count for (_, kind), count in self.tokens.items() if kind in ("prompt", "completion"))

    def add(self, batch: pa.RecordBatch) -> None:
        self.conversations += len(batch)
        self.recipes += value_counts(below(batch["run"], "recipe"))
        self.endings += value_counts(named(batch["ending"], "ENDING_"))
        self.topics += value_counts(below(batch["problem"], "topic"))
        self.personas += value_counts(batch["persona"].filter(_is_said(batch["persona"])))
        self.tutors += value_counts(batch["tutor_persona"].filter(_is_said(batch["tutor_persona"])))
        self.persons += pc.sum(batch["person"]).as_py() or 0
        for extra in batch["extra"].filter(pc.equal(batch["tutor_persona"], TEACHER)).to_pylist():
            if (notes := TeacherNotes.read(extra)).teacher:
                self.teachers[notes.teacher] += 1
                self.teaching_seconds.append(sum(notes.seconds))
        self.problems += value_counts(problems(batch))
        sources = below(batch["problem"], "source")
        self.origins += value_counts(pc.replace_substring_regex(sources, r"[/:].*", ""))
        self.families += value_counts(*pc.extract_regex(sources, _FAMILY).flatten())
        self.steps += value_counts(pc.list_value_length(pc.struct_field(batch["problem"], "steps")))
        self.lengths += value_counts(pc.list_value_length(batch["turns"]))
        if "reasons" in batch.schema.names:
            kinds = kinds_of_reasons(pc.list_flatten(batch["reasons"]))
            self.reasons += Counter(kind for _, kind in value_counts(pc.list_parent_indices(batch["reasons"]), kinds))
        if (own := recipe_counts(recipe_of(batch))) and own.counts:
            self.own.setdefault(recipe_of(batch), own.counts()).add(batch)
        turns = pc.list_flatten(batch["turns"])
        self._add_texts(below(turns, "student", "text"), below(turns, "tutor", "text"))
        student, tutor = below(turns, "student"), below(turns, "tutor")
        evaluations = named(below(tutor, "evaluation"), "EVALUATION_")
        self.intents += value_counts(named(below(student, "intent"), "INTENT_"))
        self.evaluations += value_counts(evaluations)
        self.mending.add(batch)
        self.manner.add(batch)
        self._add_labels(batch, evaluations)
        self.verification += value_counts(named(below(turns, "verification"), "VERIFICATION_"))
        self.resolutions += value_counts(named(batch["resolution"], "RESOLUTION_"))
        self._add_calculations(below(turns, "calculation"), evaluations)
        self._add_calls(below(turns, "calls"))
        self._add_token_lengths(turns, batch)
        self._add_calls(below(pc.list_flatten(batch["rewinds"]), "turns", "calls"))
        self._add_calls(below(uncounted_enrichments(batch["problem"], self.enrichments), "calls"))

    @property
    def recipe(self) -> Recipe:
        """The recipe whose words describe the codes, or the default one if it is not installed.

        A dataset normally has one recipe.
        """
        return installed(self.recipe_name) or find(DEFAULT)

    @property
    def recipe_name(self) -> str:
        return next((name for name, _ in self.recipes.most_common(1)), "") or DEFAULT

    @property
    def turns(self) -> int:
        return sum(turns * conversations for turns, conversations in self.lengths.items())

    @property
    def replies(self) -> int:
        """The student's messages, except those that open a conversation."""
        return self.intents.total() - self.intents["opening"]

    @property
    def bigram_entropy(self) -> float:
        """The mean over the tutor's utterances of the entropy of their word pairs."""
        return self.entropy / max(self.utterances("tutor"), 1)

    @property
    def uptake(self) -> float:
        """The mean share of a message's words that its reply takes up."""
        return self.taken_up / max(self.uptakes, 1)

    @property
    def judged(self) -> int:
        """The number of evaluations beside a verdict of the code; 0 without the recipe, which says when they agree."""
        return self.verdicts.total() if installed(self.recipe_name) else 0

    @property
    def agreeing(self) -> int:
        agreeing = self.recipe.agreeing
        return sum(n for (evaluation, found), n in self.verdicts.items() if LETTERS.get(evaluation) in agreeing[found])

    def utterances(self, speaker: str) -> int:
        return sum(count for (who, _), count in self.words.items() if who == speaker)

    def words_per_utterance(self, speaker: str) -> float:
        words = sum(number * count for (who, number), count in self.words.items() if who == speaker)
        return words / max(self.utterances(speaker), 1)

    def dialogue_measures(self) -> list[tuple[str, str]]:
        """Returns measures of what is said; none for a dataset in which nobody speaks."""
        if not self.words:
            return []
        return [
            ("message-reply pairs", f"{self.pairs:,}"),
            ("words an utterance, tutor", f"{self.words_per_utterance('tutor'):.1f}"),
            ("bigram entropy", f"{self.bigram_entropy:.2f}"),
            ("uptake", f"{self.uptake:.2f}"),
        ]

    def resolution_measures(self) -> list[tuple[str, str]]:
        """Returns measures only for conversations that record whether the student reached the answer."""
        resolved = self.resolutions.total()
        outcomes = {"solved": "solved by the student alone", "revealed": "solved after the tutor revealed the answer"}
        return [(words, share(self.resolutions[name], resolved)) for name, words in outcomes.items() if resolved]

    def _add_labels(self, batch: pa.RecordBatch, evaluations: pa.Array) -> None:
        for name, values in label_values(batch):
            self.labels[name] += value_counts(values)
            if (column := columns_of(recipe_of(batch)).get(name)) and column.response:
                self.responses += value_counts(evaluations, values)

    def _add_texts(self, student: pa.Array, tutor: pa.Array) -> None:
        for speaker, texts in (("student", student), ("tutor", tutor)):
            said = texts.filter(_is_said(texts))
            lengths = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(said)))
            self.words += Counter({(speaker, number): count for number, count in value_counts(lengths).items()})
        for message, reply in zip(student.to_pylist(), tutor.to_pylist(), strict=True):
            if not reply:
                continue
            replied = words(reply)
            self.entropy += bigram_entropy(replied)
            if not message:
                continue
            self.pairs += 1
            if (share := uptake(words(message), replied)) is not None:
                self.uptakes += 1
                self.taken_up += share

    def _add_calculations(self, calculations: pa.Array, evaluations: pa.Array) -> None:
        used = calculations.is_valid()
        calculations, evaluations = calculations.filter(used), evaluations.filter(used)
        self.python_turns += len(calculations)
        tries = pc.list_value_length(pc.struct_field(calculations, "attempts"))
        self.attempts += value_counts(tries)
        executions = below(calculations, "attempts", "execution")
        statuses = named(below(executions, "status"), "STATUS_")
        self.statuses += value_counts(statuses)
        self.errors += value_counts(_kinds_of_errors(below(executions, "error"), statuses))
        self.verdicts += value_counts(evaluations, verdicts(calculations))

    def _add_calls(self, calls: pa.Array) -> None:
        self.parse += value_counts(named(below(calls, "outcome"), "PARSE_OUTCOME_"))
        for row in call_counts(calls):
            self.models[tuple(row[name] for name in ANSWERED_BY)] += row["calls"]
            for kind in KINDS:
                if row[kind]:
                    self.tokens[row["role"], kind] += row[kind]

    def _add_token_lengths(self, turns: pa.Array, batch: pa.RecordBatch) -> None:
        calls = pc.struct_field(turns, "calls")
        read, written = (np.asarray(below(calls.flatten(), f"{kind}_tokens")) for kind in ("prompt", "completion"))
        rows = np.asarray(pc.list_parent_indices(batch["turns"]))[np.asarray(pc.list_parent_indices(calls))]
        whole = np.bincount(rows, read + written, minlength=len(batch))
        for name, lengths in (("read by a call", read), ("written by a call", written), ("of a conversation", whole)):
            self.token_lengths[name] += binned(pa.array(lengths, pa.float64()))


def kinds_of_reasons(reasons: pa.Array) -> pa.Array:
    """Returns the rule that each reason begins with."""
    return pc.list_element(pc.split_pattern(reasons, ":", max_splits=1), 0)


def _is_said(texts: pa.Array) -> pa.Array:
    return pc.fill_null(pc.greater(pc.utf8_length(texts), 0), False)


def _kinds_of_errors(errors: pa.Array, statuses: pa.Array) -> pa.Array:
    """Returns the exception of each failed program, or its status."""
    failed = pc.not_equal(statuses, "ok")
    kinds: list[Any] = []
    for error, status in zip(errors.filter(failed).to_pylist(), statuses.filter(failed).to_pylist(), strict=True):
        exception = _EXCEPTION.match(error) if status == "error" else None
        kinds.append(exception.group() if exception else status)
    return pa.array(kinds, pa.string())
