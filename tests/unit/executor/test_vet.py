"""The vet accepts plain computation and nothing else."""

import ast
import builtins
import re

from soliloquy_services.executor.guest.vet import MAX_NODES, VetResult, vet
from soliloquy_services.executor.guest.vocabulary import BUILTINS, PUBLIC
from tests.cases import each_case


def vetted(code: str) -> VetResult:
    return vet(ast.parse(code))


@each_case
def test_what_only_computes_passes(code: str) -> None:
    assert vetted(code).refused is None


@each_case
def test_what_might_do_more_is_refused_with_its_line(code: str, why: str) -> None:
    assert re.search(why, vetted(code).refused or "")


@each_case
def test_a_builtin_that_is_not_listed_is_refused(name: str) -> None:
    assert vetted(f"x = {name}").refused == f"line 1: the name {name} is not vetted"


def test_a_kind_of_node_that_a_later_python_invents_is_refused() -> None:
    class Teleport(ast.stmt):
        _fields = ("body", "name")

    later = Teleport(lineno=1)
    vars(later).update(body=[ast.Pass()], name="there")
    assert vet(ast.Module(body=[later], type_ignores=[])).refused == "line 1: teleport is not vetted"


def test_no_vetted_builtin_has_an_attribute_by_the_name_of_a_module_s_function() -> None:
    public = {name for module in PUBLIC.values() for name in module}
    assert {name for builtin in BUILTINS for name in dir(getattr(builtins, builtin))} & public == set()


def test_the_first_reason_in_the_text_is_the_one_told() -> None:
    assert vetted("import math\nif 1:\n  for i in [1]:\n    x.y\nwhile 1: pass\nimport os").refused == (
        "line 4: the attribute y is not vetted"
    )


def test_too_much_code_is_refused_and_its_imports_are_told() -> None:
    long = vetted("x = [" + "1," * MAX_NODES + "]\nimport numpy.linalg as la")
    assert (long.refused, long.imports) == ("more than 20000 syntax nodes", ("numpy",))


def test_deep_code_is_vetted_without_recursion() -> None:
    assert vetted("x = " + "-" * 900 + "1").refused is None
    assert vetted("x = " + "(" * 90 + "y.z" + ")" * 90).refused == "line 1: the attribute z is not vetted"


@each_case
def test_imports_are_found_wherever_they_are(code: str, imports: list[str]) -> None:
    assert list(vetted(code).imports) == imports
