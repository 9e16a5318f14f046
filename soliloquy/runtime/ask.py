"""Asks a model, parses its answer, and asks again with the error shown where the answer is unusable."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from soliloquy.runtime.answers import Answer, PartlyUsable, Refusal, Unreadable
from soliloquy.runtime.model import Model, ModelRefused
from soliloquy.runtime.model.metrics import ANSWERS
from soliloquy.runtime.model.span_attributes import answer_attributes
from soliloquy.runtime.model_answer import OUTCOMES, CutOff, Empty, Endless, Filtered, read_words, words_of
from soliloquy.runtime.seeds import digest, seed
from soliloquy.runtime.traces import spans
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, Problem
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Record, Sampling

MAX_ASKS = 3
# Fields of a call that are sums over its attempts.
_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens", "cost")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The messages for a model. The name is "<recipe>/<state>"."""

    name: str
    said: Sequence[tuple[str, str]]
    # 0 leaves the temperature to the settings of the role.
    temperature: float = 0.0
    # The values of the slots of its template.
    slots: Mapping[str, str] = field(default_factory=dict)

    @property
    def messages(self) -> list[Message]:
        return [Message(role=role, text=text) for role, text in self.said]


@dataclass(frozen=True, kw_only=True, slots=True)
class SentBack:
    """An answer that was read and then found unfit, and the reason for the model."""

    prompt: str
    raw: str
    reason: str


class Answered(NamedTuple):
    prompt: str
    answer: Answer


class Unusable(Exception):
    """The model gave no usable answer in any of its attempts."""


A = TypeVar("A", bound=Answer)


@dataclass(kw_only=True)
class Ask:
    """Asks the model on behalf of one role while one event is handled, and records every raw answer."""

    model: Model
    role: str
    # Sampling seeds derive from this, so the same event always asks with the same seeds.
    origin: tuple[object, ...]
    calls: list[ModelCall] = field(default_factory=list)
    # Asks with the same key have the same member of a mixture.
    draw_key: str = ""
    # The conversation or the problem at hand, for the stand-in.
    conversation: Conversation | None = None
    problem: Problem | None = None
    # Whether the role's fallback is asked in its place.
    fallback: bool = False
    # Earlier answers to the same event, each with the reason why it cannot be used; the last one follows its prompt.
    sent_back: Sequence[SentBack] = ()
    # Follows an answer that cannot be used.
    again: str = "That answer cannot be used: {reason}. Answer once more, as asked."
    # Shortens the messages of a prompt whose answer cannot be used.
    shortened: Callable[[str], str] = str
    # Earlier answers that stand: they are returned in this order instead of asking.
    standing: Sequence[Answered] = ()
    # The answers so far.
    answers: list[Answered] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw_key = self.draw_key or digest(*self.origin)

    async def __call__(self, prompt: Prompt, answer: type[A], check: Callable[[A], None] | None = None) -> A:
        """`check` raises Unreadable for an answer that has the right shape but is still unusable.

        The rest of the last answer that PartlyUsable leaves is used if `check` accepts it.
        """
        if len(self.answers) < len(self.standing):
            stands = self.standing[len(self.answers)]
            assert isinstance(stands.answer, answer)
            self.answers.append(stands)
            return stands.answer
        call = ModelCall(role=self.role, prompt=prompt.name)
        self.calls.append(call)
        messages = prompt.messages
        if last := next((one for one in reversed(self.sent_back) if one.prompt == prompt.name), None):
            messages = self._again(prompt, last.raw, last.reason)
        problem: Unreadable
        extra_room = 0
        for _ in range(MAX_ASKS):
            ask = (*self.origin, prompt.name, len(self.calls), len(call.raw))
            request = GenerateRequest(
                role=self.role,
                prompt=prompt.name,
                messages=messages,
                schema=answer.json_schema(),
                sampling=Sampling(temperature=prompt.temperature) if prompt.temperature else None,
                seed=seed(*ask),
                id=digest(*ask),
                extra_room=extra_room,
                draw_key=self.draw_key,
                fallback=self.fallback,
            )
            # A message that a constructor is given is written and read again.
            write_record(request.record, self.conversation or Conversation(problem=self.problem), prompt.slots)
            began = time.perf_counter()
            attributes = {"operation": "chat", "role": self.role, "state": prompt.name}
            if self.conversation:
                attributes["conversation"] = self.conversation.id
            with spans.child(f"model {self.role}", "client", ask=len(call.raw) + 1, **attributes):
                try:
                    completion = await self.model.generate(request)
                except ModelRefused:
                    if not extra_room:
                        raise
                    # The model's context has no more room: the answer stays cut off.
                    break
                if spans.recording():
                    spans.note(**answer_attributes(request, completion))
            call.seconds += time.perf_counter() - began
            for name in ("model", "engine", "adapter_digest", "endpoint"):
                setattr(call, name, getattr(completion, name))
            for name in _COUNTS:
                if count := getattr(completion, name):
                    setattr(call, name, getattr(call, name) + count)
            words = words_of(completion)
            call.raw.append(words.text)
            if words.thoughts:
                # Each attempt's thoughts have the place of its text.
                call.reasoning.extend([""] * (len(call.raw) - 1 - len(call.reasoning)) + [words.thoughts])
            try:
                value, strict = read_words(completion, words, answer)
                if check:
                    value = _checked(value, check, is_last=len(call.raw) == MAX_ASKS)
            except Unreadable as unreadable:
                problem = unreadable
            else:
                first = ParseOutcome.PARSE_OUTCOME_STRICT if strict else ParseOutcome.PARSE_OUTCOME_REPAIRED
                self._close(call, first if len(call.raw) == 1 else ParseOutcome.PARSE_OUTCOME_REASKED)
                self.answers.append(Answered(prompt.name, value))
                return value
            match problem:
                case Endless():
                    # The whole of it would invite more.
                    messages = self._again(prompt, problem.beginning, str(problem))
                case CutOff():
                    extra_room += 1
                case Refusal() | Filtered() | Empty():
                    # The next seed may do better; words about the failure would only invite another.
                    pass
                case _:
                    messages = self._again(prompt, words.text, str(problem))
        self._close(call, OUTCOMES.get(type(problem), ParseOutcome.PARSE_OUTCOME_FAILED))
        raise Unusable(f"{prompt.name}: unusable after {len(call.raw)} asks: {problem}")

    def _again(self, prompt: Prompt, raw: str, reason: str) -> list[Message]:
        """Returns a prompt with its last answer and why it cannot be used."""
        return [
            *(Message(role=one.role, text=self.shortened(one.text)) for one in prompt.messages),
            Message(role="assistant", text=raw),
            Message(role="user", text=self.again.format(reason=reason)),
        ]

    def _close(self, call: ModelCall, outcome: ParseOutcome) -> None:
        call.outcome = outcome
        ANSWERS.labels(self.role, ParseOutcome.Name(outcome).removeprefix("PARSE_OUTCOME_").lower()).inc()


def write_record(record: Record, conversation: Conversation, slots: Mapping[str, str]) -> None:
    """Writes what a prompt about a conversation is written from."""
    record.persona, record.tutor_persona = conversation.persona, conversation.tutor_persona
    record.labels, record.person = conversation.labels, conversation.person
    record.slots.update(slots)
    record.problem.CopyFrom(conversation.problem)
    record.problem.enrichment.ClearField("calls")
    for turn in conversation.turns:
        told = record.turns.add()
        told.CopyFrom(turn)
        told.ClearField("calls")


def _checked(value: A, check: Callable[[A], None], *, is_last: bool) -> A:
    """Returns an answer that passes a check, or what can be used of the last one."""
    try:
        check(value)
    except PartlyUsable as partly:
        if not (is_last and isinstance(partly.rest, type(value))):
            raise
        check(partly.rest)
        return partly.rest
    return value
