"""Finds out what an endpoint refuses of a request, and leaves it out from then on."""

import functools
import hashlib
import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.runtime.model.agreements import Agreement
from soliloquy.runtime.model.dialects import ERRORS, Dialect
from soliloquy.runtime.model.schemas import forms_of
from soliloquy.runtime.thoughts import begins_with_thoughts
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

# The statuses with which endpoints refuse a part of a request. Some fail at a schema's grammar with a 500.
REFUSALS = frozenset({400, 422})
GRAMMAR_FAILURES = frozenset({500, 501})
LIMITS = ("max_tokens", "max_completion_tokens")
# Has the text of messages with the role "system" stand in front of the next message.
SYSTEM = "system messages"
# More adaptations than there are parameters and forms of a schema: a call ends whatever an endpoint answers.
MOST_ADAPTATIONS = 16
# The beginning of a message names what is refused; later it may quote the prompt.
_BEGINNING = 300
_REQUIRED = frozenset({"model", "messages"})
_TOGETHER = re.compile(r"\b(both|together|only one of)\b", re.IGNORECASE)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndpointError:
    """The fields of an error's body."""

    words: str
    # The parameters that it names in fields of their own.
    params: Sequence[str] = ()


def error_in(content: bytes) -> EndpointError:
    """Reads an error in any of the forms that endpoints have for it."""
    text = content.decode("utf-8", "replace")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return EndpointError(_in_a_line(text))
    if isinstance(answer, list) and answer:
        answer = answer[0]
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return EndpointError(_in_a_line(error if isinstance(error, str) else text))
    params = [param] if isinstance(param := error.get("param"), str) else []
    words = json.dumps(error, ensure_ascii=False)
    if isinstance(details := error.get("detail"), list):
        # Each detail repeats its input, which may be the whole prompt.
        told = [detail for detail in details if isinstance(detail, dict)]
        params += [str(place) for detail in told for place in _places(detail)]
        words = "; ".join(f"{'.'.join(map(str, _places(detail)))}: {detail.get('msg')}" for detail in told)
    return EndpointError(_in_a_line(words), tuple(params))


def _in_a_line(words: str) -> str:
    # An endpoint that cuts a quoted emoji leaves half a surrogate pair, which fits into no record.
    return " ".join(words.split()).encode("utf-8", "backslashreplace").decode()


def _places(detail: Mapping[str, Any]) -> Sequence[object]:
    places = detail.get("loc")
    return [place for place in places if place != "body"] if isinstance(places, list) else []


class Attempt:
    """One call's request, in the form that the endpoint has not refused so far.

    What is left out is only remembered when an answer proves that this was the reason: an error may name a parameter
    because it quotes the prompt.
    """

    def __init__(self, agreement: Agreement, request: GenerateRequest) -> None:
        self._agreement = agreement
        self._digest = _digest(request.schema)
        self._forms = forms_of(request.schema, request.prompt, agreement.schema, agreement.dialect)
        self._without: frozenset[str] = frozenset()
        self._form = 0
        self._renew()

    def _renew(self) -> None:
        """Between two requests alone: an error is about what was sent, whatever other calls have found out since."""
        self.without = self._agreement.without | self._without
        self.form = self._forms[max(self._form, self._agreed_form)]

    @property
    def dialect(self) -> Dialect:
        return self._agreement.dialect

    @property
    def _agreed_form(self) -> int:
        """Returns the place of the form that was agreed on; the first if this version has no such form."""
        name = self._agreement.forms.get(self._digest)
        return next((place for place, form in enumerate(self._forms) if form.name == name), 0) if name else 0

    @property
    def limit(self) -> str:
        """Returns the name of the limit on tokens; empty if the endpoint takes none."""
        names = sorted(LIMITS, key=lambda name: name != self._agreement.dialect.limit)
        return next((name for name in names if name not in self.without), "")

    def adapt(self, status: int, content: bytes, sent: Mapping[str, Any]) -> bool:
        """Leaves out what an error refuses; returns False if it refuses nothing that could be left out."""
        if status not in REFUSALS | GRAMMAR_FAILURES:
            return False
        refused = self.without, self.form
        is_news = self._agreement.refresh()
        self._renew()
        if is_news or (self.without, self.form) != refused:
            # Another call has found out more.
            return True
        error = error_in(content)
        # A message that passes on another one has its quotes escaped.
        words = error.words.replace("\\", "")
        if ERRORS["size"].search(words):
            return False
        has_schema = "response_format" in sent
        if status in GRAMMAR_FAILURES:
            return has_schema and bool(ERRORS["grammar"].search(words)) and self._weaken()
        named = set(_named(words, error.params, sent.keys() - _REQUIRED - {"response_format"}))
        if len(named) > 1 and _TOGETHER.search(words):
            named = {max(named)}
        if SYSTEM not in self.without and ERRORS["system"].search(words):
            named.add(SYSTEM)
        if named - self.without:
            self._without |= named
            self._renew()
            return True
        return has_schema and _refuses_schema(words, error.params) and self._weaken()

    def _weaken(self) -> bool:
        place = self._forms.index(self.form)
        if place + 1 == len(self._forms):
            return False
        self._form = place + 1
        self._renew()
        return True

    @property
    def may_think_first(self) -> bool:
        """Whether the answer may begin with thoughts that no mark announces."""
        if self._agreement.thinks_first is None:
            return self.form.response_format is None and self._agreement.dialect.reasoning != ""
        return self._agreement.thinks_first

    def accepted(self, where: str, completion: Completion) -> None:
        """Remembers what had to be left out and how the model answers, and says so once."""
        found = sorted(name for name in self._without if self._agreement.learn("without", name))
        if found:
            _log.warning("%s refuses %s: left out from here on", where, ", ".join(found))
        if self._form > self._agreed_form and self._agreement.learn("form", f"{self._digest} {self.form.name}"):
            _log.warning("%s refuses a schema: asked for as %s from here on", where, self.form.name)
        if self._agreement.thinks_first:
            return
        if not completion.reasoning and begins_with_thoughts(completion.text):
            if self._agreement.learn("thinks_first", "yes"):
                _log.info("%s thinks in its answers: chats show their words once they are complete", where)
        elif self._agreement.thinks_first is None and self.form.response_format is None and _is_told(completion):
            self._agreement.learn("thinks_first", "no")


def _is_told(completion: Completion) -> bool:
    """Whether the answer shows that thoughts do not come before its words."""
    return bool(completion.reasoning) or (completion.finish == Finish.FINISH_STOP and completion.text.strip() != "")


@functools.lru_cache(512)
def _digest(schema: str) -> str:
    return hashlib.blake2b(schema.encode(), digest_size=8).hexdigest()


def _refuses_schema(words: str, params: Sequence[str]) -> bool:
    names_it = any(re.match(r"response_format\b", param) for param in params)
    return names_it or any(ERRORS[kind].search(words) for kind in ("schema", "opaque"))


def _named(words: str, params: Sequence[str], sent: Collection[str]) -> Iterator[str]:
    """Yields the parameters that an error is about: named in a field, else in quotes, else in its first words."""
    patterns = {name: "stream(_options)?" if name.startswith("stream") else re.escape(name) for name in sent}
    for hits in (
        [name for name in sent if any(re.match(rf"{patterns[name]}\b", param) for param in params)],
        [name for name in sent if re.search(rf"['\"`]{patterns[name]}['\"`]", words)],
        [name for name in sent if name != "n" and re.search(rf"\b{patterns[name]}\b", words[:_BEGINNING])],
        ["n"] if "n" in sent and ERRORS["n"].search(words) else [],
    ):
        if hits:
            yield from ("stream" if name.startswith("stream") else name for name in hits)
            return
