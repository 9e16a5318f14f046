"""Settings of a training: one YAML file, validated before anything is loaded."""

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.validated_file import read_model


class Diverged(Failure):
    """The loss is not finite, so continuing is useless."""


class Lora(BaseModel, frozen=True, extra="forbid"):
    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    # The matrices of a layer that are tuned.
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Rollouts(BaseModel, frozen=True, extra="forbid"):
    """The episodes of the gym that "grpo" learns from."""

    recipe: str = "soliloquy"
    problems: str = "physics"
    # The roles of the model; the environment's models play the others.
    roles: tuple[str, ...] = ("tutor", "codegen", "composer")
    # A file with the settings of the environment's models; the stand-in by default.
    models: str = ""
    # Weights of the reward's components that differ from the gym's.
    weights: dict[str, float] = Field(default_factory=dict)
    # The episodes of each problem, which are compared with each other.
    group: int = Field(default=8, ge=2)
    temperature: float = Field(default=1.0, gt=0)
    # Tokens of an answer at most.
    max_tokens: int = Field(default=512, ge=1)


class TrainingSettings(BaseModel, frozen=True, extra="forbid"):
    # "sft" learns what tutors said. "dpo" and "kto" learn from answers that rules sent back, "grpo" from rewards.
    method: Literal["sft", "dpo", "kto", "grpo"] = "sft"
    rollouts: Rollouts = Rollouts()
    # Holds other methods' model to the one that it starts from: the higher, the closer.
    beta: float = Field(default=0.1, gt=0)
    # "states": each prompt that the recipe sends its tutor. "dialogue": the conversation as one chat with tool calls.
    # "replies": the tutor's messages alone, from the dialogue before them and the `given` extras.
    layout: Literal["states", "dialogue", "replies"] = "states"
    given: ReplyContext = ReplyContext()
    # The solution that a dialogue's first message tells, if the problem has both.
    manual: Literal["detailed", "outline"] = "detailed"
    # "tutor": its own words. "everything": its input too, for a model that knows nothing yet.
    learn: Literal["tutor", "everything"] = "tutor"
    # Tokens of a packed sequence, which holds several samples.
    sequence_length: int = Field(default=4096, ge=8)
    # Packed sequences per step over all workers, and those that a worker computes at once.
    batch: int = Field(default=16, ge=1)
    micro_batch: int = Field(default=1, ge=1)
    epochs: int = Field(default=1, ge=1)
    # Ends the training early, if the epochs have more steps.
    max_steps: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(default=1e-4, gt=0)
    decay: Literal["cosine", "linear"] = "cosine"
    # The share of steps to warm up, and the share of the learning rate that remains at the end.
    warmup_share: float = Field(default=0.03, ge=0, lt=1)
    final_share: float = Field(default=0.0, ge=0, le=1)
    weight_decay: float = Field(default=0.0, ge=0)
    # Clips the norm of a step's gradient.
    clip: float = Field(default=1.0, gt=0)
    tune: Literal["lora", "full"] = "lora"
    lora: Lora = Lora()
    # "4bit" keeps the frozen base in four bits (QLoRA).
    quantize: Literal["none", "4bit"] = "none"
    # "auto" is bf16 on a GPU that has it, and fp32 elsewhere.
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    # "layers" compiles each layer, with rows of one length, and needs a C compiler; "auto" does so on a GPU.
    compile: Literal["auto", "layers", "none"] = "auto"
    gradient_checkpointing: bool = False
    # The share of conversations to hold out.
    validation_share: float = Field(default=0.05, ge=0, lt=1)
    validate_every: int = Field(default=50, ge=1)
    # Stops after this many validations without a better loss; 0 for never.
    patience: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=50, ge=1)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.quantize == "4bit" and self.tune == "full":
            raise ValueError("quantize: 4bit requires tune: lora")
        if self.patience and not self.validation_share:
            raise ValueError("patience requires a validation_share above 0")
        if self.given != ReplyContext() and self.layout != "replies":
            raise ValueError(f"given requires layout: replies, not {self.layout}")
        if self.method != "sft":
            self._check_method()
        if self.manual == "outline" and self.layout != "dialogue":
            raise ValueError(f"manual: outline requires layout: dialogue, not {self.layout}")
        return self

    def _check_method(self) -> None:
        for name in ("layout", "learn", "tune"):
            if (value := getattr(self, name)) != (usual := type(self).model_fields[name].default):
                raise ValueError(f"method: {self.method} requires {name}: {usual}, not {value}")
        if self.compile == "layers":
            raise ValueError(f"method: {self.method} requires compile: auto or none, not layers")
        if self.method == "kto" and self.micro_batch == 1:
            raise ValueError("method: kto compares answers of one batch: raise micro_batch to 2 or more")
        if self.method == "grpo":
            self._check_rollouts()

    def _check_rollouts(self) -> None:
        if self.max_steps is None:
            raise ValueError("method: grpo never runs out of episodes: set max_steps")
        if self.batch % self.rollouts.group:
            raise ValueError(f"batch is {self.batch}, which is no multiple of rollouts.group ({self.rollouts.group})")
        if self.rollouts.max_tokens >= self.sequence_length:
            raise ValueError(
                f"rollouts.max_tokens ({self.rollouts.max_tokens}) leaves no room for a prompt: raise sequence_length "
                f"({self.sequence_length})"
            )

    @property
    def digest(self) -> str:
        return digest(json.dumps(self.model_dump(mode="json"), sort_keys=True))


def read_settings(path: Path, method: str | None = None) -> TrainingSettings:
    """Reads a file of settings; `method` takes precedence over its own."""
    import yaml

    def parse(text: str) -> Any:
        try:
            settings = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
        return {**settings, "method": method} if method and isinstance(settings, dict) else settings

    return read_model(path, parse, TrainingSettings)
