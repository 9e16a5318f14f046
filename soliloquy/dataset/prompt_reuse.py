"""Replays the prompts of a dataset against a cache of prefixes: what they are made of, and how much it holds."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation

# The fewest tokens that a cache holds of a prompt, and the steps beyond them. Hosted APIs have 1,024 and 128.
STEP = 128
RULES = (0, STEP, 1024)
# Prompts of a state that are compared; word problems take turns with 16 draws of examples.
_RECENT = 32
# Roughly what byte-pair encodings make of English: words with the blank before them, digits by three.
_PIECE = re.compile(r" ?[^\W\d_]{1,8}|\d{1,3}| ?[^\w\s]{1,2}|\s+|_")
# A prompt's text from its beginning: which others begin like that.
PARTS = ("role", "state", "problem", "conversation", "own")


def tokens_in(text: str) -> int:
    """Estimates the tokens of a text; encodings of models differ by a tenth or so."""
    return sum(1 for _ in _PIECE.finditer(text))


def held(tokens: int, rule: int) -> int:
    """Returns how many tokens of such a beginning a cache holds."""
    if rule == 0:
        return tokens
    return 0 if tokens < rule else rule + (tokens - rule) // STEP * STEP


@dataclass(kw_only=True)
class StateUse:
    """The prompts of one state."""

    prompts: int = 0
    tokens: int = 0
    # The tokens of each part, and those that a cache of each rule held.
    parts: Counter[str] = field(default_factory=Counter)
    hits: Counter[int] = field(default_factory=Counter)


class PromptReuse:
    """Takes conversations one after the other, as one cache sees them."""

    def __init__(self, *, together: bool = True) -> None:
        """`together` reads the prompt of several samples once, as endpoints do that answer a request several times."""
        self._together = together
        self.states: defaultdict[str, StateUse] = defaultdict(StateUse)
        self.total = StateUse()
        # The latest prompt of each state, whatever its conversation, and some before it.
        self._latest: dict[str, str] = {}
        self._recent: defaultdict[str, deque[str]] = defaultdict(partial(deque[str], maxlen=_RECENT))
        self._role_of: dict[str, str] = {}

    def add(self, conversation: Conversation) -> None:
        """Rebuilds the prompts; answers that were asked for again are left out."""
        self._learn_roles(conversation)
        earlier: list[str] = []
        for prompt in self._asked(conversation):
            self._add(prompt.name, text_of(prompt), earlier, conversation.problem.question)

    def role_of(self, state: str) -> str:
        return self._role_of.get(state, "")

    def _add(self, name: str, text: str, earlier: list[str], question: str) -> None:
        of_role = [said for state, said in self._latest.items() if self.role_of(state) == self.role_of(name)]
        same_state = [self._latest[name]] if name in self._latest else []
        in_conversation = _shared(text, earlier)
        longest = max(_shared(text, [*self._latest.values(), *self._recent[name]]), in_conversation)
        # The ends of the parts.
        ends = [
            _shared(text, [said for said in of_role if said not in same_state] or same_state),
            _shared(text, same_state),
            text.find(question) + len(question) if question and question in text else 0,
            in_conversation,
            len(text),
        ]
        size, hits = tokens_in(text), {rule: held(tokens_in(text[:longest]), rule) for rule in RULES}
        parts, start = Counter[str](), 0
        for part, end in zip(PARTS, ends, strict=True):
            if end > start:
                parts[part], start = tokens_in(text[start:end]), end
        for use in (self.states[name], self.total):
            use.prompts += 1
            use.tokens += size
            use.parts.update(parts)
            use.hits.update(hits)
        self._latest[name] = text
        self._recent[name].append(text)
        earlier.append(text)

    def _asked(self, conversation: Conversation) -> Iterator[Prompt]:
        """Yields the prompts in order; attempts at a problem share those before their first turn."""
        samples = Counter(call.prompt for call in conversation.problem.enrichment.calls)
        for turn, prompt in find(conversation.run.recipe).prompts(conversation):
            if turn:
                yield prompt
            elif conversation.attempt == 0:
                yield from [prompt] * (1 if self._together else max(1, samples[prompt.name]))

    def _learn_roles(self, conversation: Conversation) -> None:
        calls = [*conversation.problem.enrichment.calls, *(call for turn in conversation.turns for call in turn.calls)]
        self._role_of.update({call.prompt: call.role for call in calls})


def text_of(prompt: Prompt) -> str:
    return "\n".join(f"[{role}]\n{text}" for role, text in prompt.said)


def _shared(text: str, others: Iterable[str]) -> int:
    return max((_common(text, other) for other in others), default=0)


def _common(one: str, other: str) -> int:
    """Returns the length of the beginning that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def replayed(conversations: Iterable[Conversation], *, together: bool = True) -> PromptReuse:
    reuse = PromptReuse(together=together)
    for conversation in conversations:
        reuse.add(conversation)
    return reuse


def share(use: StateUse, rule: int) -> float:
    return use.hits[rule] / use.tokens if use.tokens else 0.0
