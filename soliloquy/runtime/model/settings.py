"""Which endpoint answers each role and each prompt, and how it is sampled."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from soliloquy.runtime.model.dialects import known_dialect
from soliloquy.runtime.model.prices import NOTHING, Price, list_price
from soliloquy.runtime.seeds import draw
from soliloquy.runtime.tls import Tls

Engine = Literal["scripted", "openai", "ray"]
# The name of an endpoint's only model, whatever that is called.
ANY_MODEL = "default"
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An endpoint that serves a model."""

    engine: Engine
    # The base URL of an OpenAI-compatible API, including /v1.
    base_url: str = ""
    # HOST:PORT of a ModelService.
    address: str = ""
    # The certificates of a ModelService behind a proxy that speaks TLS; None for a connection in the clear.
    tls: Tls | None = None
    # The endpoint's name for the model.
    model: str = ANY_MODEL
    # The environment variable or file with the key. Without either, we read the usual variable.
    key_variable: str = ""
    key_file: Path | None = None
    # How the endpoint enforces an answer's schema.
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    # How the endpoint differs from OpenAI's API (dialects.toml); empty to tell from the address and the model.
    dialect: Annotated[str, AfterValidator(known_dialect)] = ""
    # Seconds to wait for an answer.
    timeout: Annotated[float, Field(gt=0)] = 120.0
    # Concurrent calls of each process; fewer while the endpoint throttles.
    max_concurrency: Annotated[int, Field(ge=1)] = 256
    # Whether it is asked in batches; how many requests make one full, and after how many seconds one goes that is not.
    batch: bool = False
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 50_000
    batch_age: Annotated[float, Field(gt=0)] = 60.0
    # Dollars per million tokens, in place of those in prices.toml. Cached tokens cost what the prompt does by default.
    prompt_price: Dollars | None = None
    completion_price: Dollars | None = None
    cached_price: Dollars | None = None
    cache_write_price: Dollars | None = None
    # The day on which these prices held.
    prices_as_of: date | None = None

    @property
    def takes_records(self) -> bool:
        """Whether it gets the records of requests, which a stand-in answers from: behind an API its name tells."""
        return self.engine in ("scripted", "ray") or self.model.startswith("scripted")

    @property
    def price(self) -> Price | None:
        """Returns None if nobody knows it."""
        if self.prompt_price is None or self.completion_price is None:
            return NOTHING if self.engine == "scripted" else list_price(self.base_url, self.model, batch=self.batch)
        return Price(
            prompt=self.prompt_price,
            completion=self.completion_price,
            cached=self.cached_price,
            cache_write=self.cache_write_price,
            as_of=self.prices_as_of,
        )


ReasoningEffort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
Temperature = Annotated[float, Field(ge=0, le=2)]
TopP = Annotated[float, Field(gt=0, le=1)]
MaxTokens = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """The endpoint, adapter and sampling of one role, or of one member of its mixture."""

    temperature: Temperature
    top_p: TopP
    max_tokens: MaxTokens
    # How long a reasoning model may think; empty leaves it to the model.
    reasoning_effort: ReasoningEffort = ""
    # The endpoint's name; empty if there is only one.
    endpoint: str = ""
    # The endpoint's name for LoRA weights on top of the model.
    adapter: str = ""
    # The share of conversations that this member of a mixture answers, relative to the others.
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    # The endpoint that is asked where the role's answers stay unfit, with the role's sampling; empty for none.
    fallback: str = ""
    # So many versions in all of an answer that no try with a reason has mended; the one with the fewest faults
    # stands.
    best_of: Annotated[int, Field(ge=1, le=16)] = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSettings:
    """Settings of a single prompt, in place of its role's."""

    temperature: Temperature | None = None
    top_p: TopP | None = None
    max_tokens: MaxTokens | None = None
    reasoning_effort: ReasoningEffort | None = None
    endpoint: str | None = None
    adapter: str | None = None

    def own(self) -> dict[str, Any]:
        """Returns the settings that are not the role's. Another endpoint does not have the role's adapter."""
        own = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return {"adapter": "", **own} if self.endpoint else own


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    endpoints: Mapping[str, Endpoint]
    # The members of each role's mixture; most roles have one.
    roles: Mapping[str, tuple[Role, ...]]
    # By the prompt's name, "<recipe>/<state>".
    prompts: Mapping[str, PromptSettings] = field(default_factory=dict)

    def drawn(self, role: str, draw_key: str) -> Role:
        """Returns the member of the role's mixture that answers all requests with this key."""
        members = self.roles[role]
        if len(members) == 1:
            return members[0]
        return draw(draw_key, role, "mixture").choices(members, [member.weight for member in members])[0]

    def for_prompt(self, settings: Role, prompt: str) -> Role:
        """Returns a role's settings with those of one of its prompts in their place."""
        own = self.prompts.get(prompt)
        return replace(settings, **own.own()) if own else settings

    def asked(self, role: str, prompt: str = "") -> Sequence[Endpoint]:
        """Returns the endpoints that may answer a role, or one of its prompts."""
        names = dict.fromkeys(self.for_prompt(member, prompt).endpoint for member in self.roles[role])
        return [self.endpoints[name] for name in names]

    def is_usual(self, role: str, endpoint: str) -> bool:
        """Whether this endpoint answers all requests of the role, except prompts with one of their own."""
        return {member.endpoint for member in self.roles[role]} == {endpoint}

    @property
    def used(self) -> Mapping[str, Endpoint]:
        """Returns the endpoints that some role or prompt uses."""
        names = [member.endpoint for members in self.roles.values() for member in members]
        names += [own.endpoint for own in self.prompts.values() if own.endpoint]
        return {name: self.endpoints[name] for name in [*names, *self._fallbacks]}

    @property
    def reserves(self) -> Collection[str]:
        """Returns the endpoints that are asked only as a fallback."""
        asked = {member.endpoint for members in self.roles.values() for member in members}
        return {*self._fallbacks} - asked - {own.endpoint for own in self.prompts.values()}

    @property
    def _fallbacks(self) -> Sequence[str]:
        return [member.fallback for members in self.roles.values() for member in members if member.fallback]

    @property
    def is_scripted(self) -> bool:
        """Whether the scripted model answers everything."""
        return {endpoint.engine for endpoint in self.used.values()} == {"scripted"}

    def changed(self, change: Callable[[Role], Role], roles: Iterable[str] | None = None) -> "Models":
        """Returns models with a change to every member of these roles, or of all."""
        names = self.roles if roles is None else set(roles)
        changed = {
            name: tuple(map(change, members)) if name in names else members for name, members in self.roles.items()
        }
        return replace(self, roles=changed)

    @property
    def has_batches(self) -> bool:
        return any(endpoint.batch for endpoint in self.used.values())

    def only_at(self, endpoint: Endpoint) -> "Models":
        """Returns settings with every role and prompt at one endpoint; sampling stays."""
        name = endpoint.engine
        moved = self.changed(lambda role: replace(role, endpoint=name, fallback=""))
        prompts = {prompt: replace(own, endpoint=None) for prompt, own in self.prompts.items()}
        return replace(moved, endpoints={name: endpoint}, prompts=prompts)

    def identity(self) -> dict[str, Any]:
        """Returns the settings that influence answers, so neither addresses nor prices."""
        told: dict[str, Any] = {"model": ", ".join(sorted({_model_named(one) for one in self.used.values()}))}
        if not self.is_scripted or any(len(members) > 1 for members in self.roles.values()):
            told["roles"] = {name: self._of_members(members) for name, members in sorted(self.roles.items())}
        if not self.is_scripted and self.prompts:
            told["prompt_settings"] = {name: self._of_prompt(own) for name, own in sorted(self.prompts.items())}
        best_of = {name: [member.best_of for member in members] for name, members in sorted(self.roles.items())}
        if best_of := {name: tries for name, tries in best_of.items() if max(tries) > 1}:
            told["best_of"] = best_of
        return told

    def _of_members(self, members: Sequence[Role]) -> dict[str, Any] | list[dict[str, Any]]:
        if len(members) == 1:
            return self._of_role(members[0])
        return [{"endpoint": member.endpoint, "weight": member.weight, **self._of_role(member)} for member in members]

    def _of_role(self, role: Role) -> dict[str, Any]:
        endpoint = self.endpoints[role.endpoint]
        if endpoint.engine == "scripted":
            # The scripted model does not sample.
            return {"engine": "scripted"}
        return {
            **_answering(endpoint),
            "adapter": role.adapter,
            "temperature": role.temperature,
            "top_p": role.top_p,
            "max_tokens": role.max_tokens,
            **({"reasoning_effort": role.reasoning_effort} if role.reasoning_effort else {}),
            **({"fallback": _answering(self.endpoints[role.fallback])} if role.fallback else {}),
        }

    def _of_prompt(self, own: PromptSettings) -> dict[str, Any]:
        return own.own() | (_answering(self.endpoints[own.endpoint]) if own.endpoint else {})


def described(name: str, endpoint: Endpoint) -> str:
    """Returns the endpoint's name, address and model, for messages."""
    return f"{name} ({endpoint.base_url or endpoint.address}, model {endpoint.model!r})"


def _answering(endpoint: Endpoint) -> dict[str, Any]:
    schema = {"schema": endpoint.schema} if endpoint.engine == "openai" else {}
    return {"engine": endpoint.engine, "model": endpoint.model, **schema}


def _model_named(endpoint: Endpoint) -> str:
    return "scripted" if endpoint.engine == "scripted" else f"{endpoint.model} ({endpoint.engine})"
