"""Random programs for the vet: some of accepted pieces only, some with pieces that it must refuse."""

from hypothesis import strategies as st

PREFACE = "import math\na, b, xs, pi = 1, 2.5, [1, 2, 3], 'pi'\n"

Code = st.SearchStrategy[str]

_NAMES = ("a", "b", "xs", "pi")
_VALUES = ("0", "1", "2.5", "3j", "'text'", "'{0.__class__}'", "'%(a)s'", "True", "None", "[]", "{}", *_NAMES)
_HOSTILE_VALUES = ("__builtins__", "__import__", "__name__", "type", "globals", "...", "b'x'", "m.pi", "math")
_CALLED = ("abs", "len", "str", "repr", "list", "tuple", "sum", "sorted", "bool", "format", "isinstance", "int", "next")
_OPERATORS = ("+", "-", "*", "%", "//", "<", "==", "in", "is", "and", "or", "|")
_ATTRIBUTES = ("pi", "real", "append", "__class__", "__dict__", "__globals__")
_IMPORTS = ("import math", "import math as m", "import cmath, math", "from math import pi", "from math import *")
_HOSTILE_LINES = ("import cmath as math", "import os", "import math as __builtins__", "from os import *", "raise a")
_HOSTILE_TARGETS = ("math.pi", "math", "a.b", "__builtins__", "__builtins__['abs']", "type", "*a, b")


def programs() -> Code:
    return st.one_of(_programs(hostile=False), _programs(hostile=True))


def _programs(*, hostile: bool) -> Code:
    def spice(*pieces: Code) -> list[Code]:
        return list(pieces) if hostile else []

    values = st.one_of(st.sampled_from(_VALUES), st.just("math.pi"), *spice(st.sampled_from(_HOSTILE_VALUES)))
    expressions = st.recursive(values, lambda part: st.one_of(*_larger(part), *spice(*_hostile(part))), max_leaves=6)
    names = st.sampled_from((*_NAMES, "abs", "a, b", "[a, b]", "xs[0]", "xs[:1]"))
    targets = st.one_of(names, *spice(st.sampled_from(_HOSTILE_TARGETS)))
    lines = st.one_of(
        st.builds("{} = {}".format, targets, expressions),
        st.builds("{} += {}".format, st.sampled_from(("a", "b", "xs", "xs[0]")), expressions),
        st.builds("a: {} = {}".format, expressions, expressions),
        st.builds("print({}, {})".format, expressions, expressions),
        st.builds("assert {}, {}".format, expressions, expressions),
        st.sampled_from(_IMPORTS),
        *spice(st.sampled_from(_HOSTILE_LINES)),
    )

    def compound(part: Code) -> Code:
        body = st.lists(part, min_size=1, max_size=3).map("\n".join).map(_indented)
        return st.one_of(
            st.builds("if {}:\n{}\nelse:\n{}".format, expressions, body, body),
            st.builds("for {} in [{}, 1]:\n{}".format, targets, expressions, body),
            st.builds("def f(p, q={}):\n{}\n  return {}\nxs = f(1)".format, expressions, body, expressions),
            *spice(
                st.builds("class A:\n{}".format, body),
                st.builds("try:\n{}\nexcept Exception as a:\n  pass".format, body),
                st.builds("with {}:\n{}".format, expressions, body),
            ),
        )

    blocks = st.lists(st.recursive(lines, compound, max_leaves=4), min_size=1, max_size=6)
    return blocks.map(lambda parts: PREFACE + "\n".join(parts))


def _larger(part: Code) -> list[Code]:
    name = st.sampled_from(_NAMES)
    return [
        st.builds("({} {} {})".format, part, st.sampled_from(_OPERATORS), part),
        st.builds("{}({})".format, st.sampled_from(_CALLED), part),
        st.builds("math.sqrt({})".format, part),
        st.builds("({} if {} else {})".format, part, part, part),
        st.builds("[{}, {}]".format, part, part),
        st.builds("{{{}: {}}}".format, part, part),
        st.builds("xs[{}]".format, part),
        st.builds("(lambda {}: {})({})".format, name, part, part),
        st.builds("[{} for {} in [{}]]".format, part, name, part),
        st.builds("list({} for {} in range(3) if {})".format, part, name, part),
        st.builds("({} := {})".format, name, part),
        st.builds("f'{{{}!r:>{{{}}}}}'".format, name, name),
        st.builds("sorted({}, key={})".format, part, part),
    ]


def _hostile(part: Code) -> list[Code]:
    return [
        st.builds("{}.{}".format, part, st.sampled_from(_ATTRIBUTES)),
        st.builds("getattr({}, {!r})".format, part, st.sampled_from(_ATTRIBUTES)),
        st.builds("print(*[{}])".format, part),
        st.builds("[1 for math.pi in [{}]]".format, part),
    ]


def _indented(block: str) -> str:
    return "\n".join("  " + line for line in block.split("\n"))
