"""What a training is: one YAML file, checked before anything is loaded."""

import json
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from soliloquy.recipes.recipe import ReplyContext
from soliloquy.runtime.seeds import digest


class CannotTrain(Exception):
    """The training cannot be done, or not go on; the message is the line to print."""


class Diverged(CannotTrain):
    """The loss is no number: what goes on from here is of no use."""


class Lora(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    # The matrices of a layer that are tuned.
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class TrainingSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # "states": each prompt that the recipe asks its tutor, as it asks it. "dialogue": the conversation as one chat
    # with tool calls. "replies": the tutor's messages alone, from what was said before and what is given besides.
    layout: Literal["states", "dialogue", "replies"] = "states"
    given: ReplyContext = ReplyContext()
    # "tutor": its own words. "everything": what it reads too, as a model without any knowledge is to learn to read.
    learn: Literal["tutor", "everything"] = "tutor"
    # Tokens of a packed sequence, into which several samples go.
    sequence_length: int = Field(default=4096, ge=8)
    # Packed sequences a step, over all workers and accumulated; and those that a worker computes at once.
    batch: int = Field(default=16, ge=1)
    micro_batch: int = Field(default=1, ge=1)
    epochs: int = Field(default=1, ge=1)
    # Steps of all epochs where that is fewer.
    max_steps: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(default=1e-4, gt=0)
    decay: Literal["cosine", "linear"] = "cosine"
    # Shares of all steps, and of the learning rate at the end of the decay.
    warmup_share: float = Field(default=0.03, ge=0, lt=1)
    final_share: float = Field(default=0.0, ge=0, le=1)
    weight_decay: float = Field(default=0.0, ge=0)
    # The norm that a step's gradient is clipped to.
    clip: float = Field(default=1.0, gt=0)
    tune: Literal["lora", "full"] = "lora"
    lora: Lora = Lora()
    # "4bit" keeps the frozen base in four bits (QLoRA).
    quantize: Literal["none", "4bit"] = "none"
    # "auto" is bf16 on a GPU that has it, and fp32 elsewhere.
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    gradient_checkpointing: bool = False
    # Of the conversations, held out.
    validation_share: float = Field(default=0.05, ge=0, lt=1)
    validate_every: int = Field(default=50, ge=1)
    # Validations without a better loss after which it ends; 0 for never.
    patience: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=50, ge=1)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.quantize == "4bit" and self.tune == "full":
            raise ValueError("quantize: 4bit keeps the base frozen: use tune: lora")
        if self.patience and not self.validation_share:
            raise ValueError("patience needs a validation_share above 0")
        if self.given != ReplyContext() and self.layout != "replies":
            raise ValueError(f"given says nothing with layout: {self.layout}: use layout: replies")
        return self

    @property
    def digest(self) -> str:
        return digest(json.dumps(self.model_dump(mode="json"), sort_keys=True))


def read_settings(path: Path) -> TrainingSettings:
    try:
        read: Any = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CannotTrain(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    try:
        return TrainingSettings.model_validate(read or {})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise CannotTrain(f"{path}: {field}: {problem['msg']}, not {problem['input']!r}") from error
