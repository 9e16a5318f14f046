"""Whether the unit of a result fits its operands, what the question asks for, and what the problem speaks of."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product

from soliloquy.texts.plurals import is_plural
from soliloquy.texts.utterances import FUNCTION_WORDS
from soliloquy.truth.arithmetic_parser import reading
from soliloquy.truth.arithmetic_policy import ABOUT, ASKING, COUNTS, WORDS
from soliloquy.truth.measured_values import MONEY, Measured, agree, measured_number
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.unit_table import Unit, powers_of, symbol, word
from soliloquy.truth.units import unit, unit_after
from soliloquy.truth.written_arithmetic import Written

# The units that each operand may have, by where it begins; None where it may count something.
Options = Mapping[int, Sequence[Unit | None]]
_MOST_CHOICES = 64
# Forces, energies and currents are written with their units; hours and lengths are counted.
_PHYSICAL = frozenset(["kg", "A", "K", "mol", "cd"])
_NAMED = re.compile(r"\bhow many\s|\bin\s(?=[^\W\d_]{2,}[\s?.,]|\\?[^\W\d_]+[?.)])", re.IGNORECASE)
_GOES_ON = re.compile(r"\s?/|\s(?:in |does )?(?:per|an?|each|every)\b", re.IGNORECASE)
_ASKED = {
    own: lazy_pattern(f"(?i){ASKING['begins']}(?:{each}){ASKING['ends']}") for own, each in ASKING["units"].items()
}
_NOUNS = [(pattern, unit(own)) for own, pattern in _ASKED.items()]
_NOUNS += [(lazy_pattern(words, re.IGNORECASE), unit(own)) for own, words in ASKING["phrases"].items()]
_SPEAKS_OF = [
    (_ASKED[own] if own in ABOUT["only_asked"] else lazy_pattern(rf"\b(?:{names})", re.IGNORECASE), own)
    for own, names in [*ASKING["units"].items(), *ABOUT["units"].items()]
]
_CURRENCIES = [lazy_pattern(names, re.IGNORECASE) for names in ABOUT["currencies"]]
_DEGREE = "°"
_WORD = re.compile(r"[^\W\d_]+|[°$€£]")
_THINGS = re.compile(r"\bhow many ([^\W\d_]+)", re.IGNORECASE)
# "What are its height and its weight?"
_SEVERAL = re.compile(
    r"\band\b[^.?!]*\?|\?.*\?|\b(?:find|calculate|compute|determine)\b[^?!]*\band (?:the|its|their)\b",
    re.IGNORECASE | re.DOTALL,
)


def result_in_units(tokens: Sequence[Written], options: Options) -> Iterator[Measured]:
    """Yields what a calculation comes to, for each choice of the units of its operands."""
    choices = (options.get(token.start, [token.unit]) if token.kind == "number" else [None] for token in tokens)
    for chosen in islice(product(*choices), _MOST_CHOICES):
        own = [
            # Degrees of Celsius are calculated with as kelvin.
            token._replace(unit=unit("K") if one and one.offset else one) if token.kind == "number" else token
            for token, one in zip(tokens, chosen, strict=True)
        ]
        found = reading(own)
        if found and found.at == len(own):
            yield found.value


def contradicts(tokens: Sequence[Written], options: Options, stated: Written) -> bool:
    """Whether a stated unit is another than that of the result: "30 × 60 = 1800 litres", of minutes."""
    told = measured_number(stated)
    numbers = [token for token in tokens if token.kind == "number"]
    if not any(token.kind == "operator" and token.text in "+-" for token in tokens):
        # A small number may count something in a product, but not in a sum of quantities.
        counted = {one.start: [*options[one.start], None] for one in numbers if one.value in COUNTS and not one.unit}
        options = {**options, **counted}
    names = {name for one in numbers for own in options[one.start] if own for name in powers_of(own.kind)}
    whole = [*result_in_units(tokens, options)]
    # Quantities of two kinds are added only where a unit was taken for another.
    if told.si is None or not told.powers or any(one.si is None for one in whole):
        return False
    if not any(one.powers for one in whole) or any(_is_same(one, told) for one in whole):
        return False
    if MONEY in names:
        # Prices are told for one, for a kilogram or for an hour without saying so. Money times anything is money
        # ("262 × 9 € = 2358 kg" is not), and money by money is none.
        signs = {token.text for token in tokens if token.kind != "number"}
        are_money = [all(own and MONEY in own.kind for own in options[one.start]) for one in numbers]
        is_money = MONEY in told.powers
        if signs <= {"+", "-"}:
            return all(are_money) and not is_money
        return (signs == {"*"} and any(are_money) and not is_money) or (
            signs == {"/"} and len(numbers) == 2 and all(are_money) and is_money
        )
    otherwise = stated.unit and stated.unit.otherwise
    if otherwise and not contradicts(tokens, options, stated._replace(unit=otherwise)):
        return False
    # A number of a few units may count something else.
    if any(None in options[one.start] and one.value not in COUNTS for one in numbers):
        return False
    if _is_strict(tokens, [options[one.start][0] for one in numbers], whole):
        return True
    # People who write of forces write their units out.
    is_physical = bool(names & _PHYSICAL)
    written = {one.start for one in numbers if one.unit} if is_physical else set[int]()
    left_out = {at: own if at in written else [*own, None] for at, own in options.items()}
    parts = [one for one in result_in_units(tokens, left_out) if one.si is not None]
    # "135 minutes × 14 = 1890 hours", "1 / 1.6 s = 0.625 m"
    is_other = is_physical or not names & set(told.powers) or any(one.powers == told.powers for one in parts)
    return is_other and not any(_is_same(one, told) for one in parts)


def _is_same(value: Measured, told: Measured) -> bool:
    return value.powers == told.powers and agree(replace(value, closed=True, has_unit=True), told, about=True)


def _is_strict(tokens: Sequence[Written], units: Sequence[Unit | None], whole: Sequence[Measured]) -> bool:
    """Whether no unit may be left out: lengths alone, and units that cancel in a product."""
    powers = [powers_of(own.kind) for own in units if own]
    names = {name for one in powers for name in one}
    if names == {"m"} and len(powers) > 1:
        return True
    if any(token.kind == "operator" and token.text in "+-" for token in tokens):
        return False
    return any(sum(abs(one.get(name, 0)) for one in powers) > abs(whole[0].powers.get(name, 0)) for name in names)


def asks_several(question: str) -> bool:
    return _SEVERAL.search(question) is not None


def asked_kinds(question: str) -> set[str]:
    """Returns the kinds of the one quantity that a question asks for by name or by unit; none if it names neither."""
    if asks_several(question):
        return set()
    found = {own.kind for names, own in _NOUNS if names.search(question)}
    things = _THINGS.search(question)
    is_counted = things is not None and is_plural(things[1]) and things[1].lower() not in WORDS["no_nouns"]
    if things and is_counted and not _GOES_ON.match(question, things.end()):
        found.add(unit(things[1]).kind)
    for named in _NAMED.finditer(question):
        own, end = unit_after(question, named.end())
        if own and own.measure:
            if own.kind == "dimensionless" or _GOES_ON.match(question, end):
                # "how many miles a day"
                return set()
            found |= {one.kind for one in (own, own.otherwise) if one}
    return found


def is_another(told: Unit, kinds: Collection[str]) -> bool:
    """Whether a unit measures something else than what is asked for: "how many miles" may be answered for each week."""
    return bool(told.measure and kinds) and not any(
        MONEY in own.kind or own.kind == "dimensionless" or own.kind in kinds or _without_time(own.kind) in kinds
        for own in (told, told.otherwise)
        if own
    )


def _without_time(kind: str) -> str:
    return " ".join(part for part in kind.split() if not part.startswith("s^"))


def is_foreign_unit(stated: str, *texts: str) -> bool:
    """Whether a unit measures what none of these texts speaks of: "4015 / 5 = 803 miles" of a loan.

    Shares and single letters fit anywhere, and money anywhere but beside another currency; pounds may be a weight.
    """
    own = unit(stated)
    measures = _dimensions(own)
    if len(stated) == 1:
        return False
    spoken = frozenset[str]().union(*map(_spoken_of, texts))
    if MONEY in measures:
        if own.otherwise and not spoken.isdisjoint(powers_of(own.otherwise.kind)):
            return False
        named, meant = ({one for one in _CURRENCIES if any(map(one.search, told))} for told in (texts, [stated]))
        return named.isdisjoint(meant) if named and meant else own.otherwise is not None
    return measures.isdisjoint(spoken) if _DEGREE in measures else not measures <= spoken


# Every result of a solution is held against the same question.
@lru_cache(256)
def _spoken_of(text: str) -> frozenset[str]:
    found = [one.unit for one in quantities_in(text) if one.unit]
    named = [powers_of(unit(own).kind) or [own] for pattern, own in _SPEAKS_OF if pattern.search(text)]
    for name in _WORD.findall(text):
        # "A" begins a sentence, "in" is seldom an inch, and the second of two no time.
        if (known := symbol(name)) and name.lower() not in FUNCTION_WORDS:
            found.append(known)
        with suppress(KeyError):
            if name.lower() != "second":
                found.append(word(name))
    return frozenset(name for one in (*named, *map(_dimensions, found)) for name in one)


def _dimensions(own: Unit) -> set[str]:
    """Returns what a unit is made of; degrees may be those of a temperature."""
    if own == unit(_DEGREE):
        return {_DEGREE, "K"}
    # Moles count what a solution knows the mass of.
    return {name for one in (own, own.otherwise) if one and one.measure for name in powers_of(one.kind)} - {"mol"}
