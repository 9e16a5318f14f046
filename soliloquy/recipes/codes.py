"""Names the contract's enums as records, prompts and other formats write them."""

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from soliloquy.v1.conversation_pb2 import ErrorStrategy, Evaluation, Intent

EVALUATIONS = {
    "a": Evaluation.EVALUATION_INCORRECT,
    "b": Evaluation.EVALUATION_CORRECT,
    "c": Evaluation.EVALUATION_PARTIAL,
    "d": Evaluation.EVALUATION_UNCLEAR,
    "e": Evaluation.EVALUATION_OFF_TOPIC,
    "f": Evaluation.EVALUATION_INQUIRY,
    "g": Evaluation.EVALUATION_NOT_APPLICABLE,
}
EVALUATION_LETTERS = {evaluation: letter for letter, evaluation in EVALUATIONS.items()}

INTENTS = {Intent.INTENT_OPENING: "opening", Intent.INTENT_RIGHT: "right", Intent.INTENT_WRONG: "wrong"}
STRATEGIES = {
    ErrorStrategy.ERROR_STRATEGY_FORMULA: "formula",
    ErrorStrategy.ERROR_STRATEGY_REARRANGEMENT: "rearrangement",
    ErrorStrategy.ERROR_STRATEGY_CONVERSION: "conversion",
    ErrorStrategy.ERROR_STRATEGY_ARITHMETIC: "arithmetic",
}


def word_of(kind: EnumTypeWrapper, value: int) -> str:
    """Returns the value of an enum in words; empty if it is unset."""
    return kind.Name(value).removeprefix(kind.Name(0).removesuffix("UNSPECIFIED")).lower() if value else ""
