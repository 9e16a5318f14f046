"""Vetted code gets Python's own functions, its own print and its own copies of modules."""

import builtins
import cmath
import math
from types import ModuleType

import pytest

from soliloquy_services.executor.guest.vocabulary import BUILTINS
from soliloquy_services.executor.guest.vocabulary import builtins as given
from tests.cases import each_case
from tests.unit.executor.vetted_code import as_python_does, as_the_worker_does


def test_every_job_gets_the_listed_builtins_and_no_other() -> None:
    offered = given(print)
    assert offered.keys() == BUILTINS | {"__import__"}
    assert all(offered[name] is getattr(builtins, name) for name in BUILTINS - {"print"})


def test_what_one_job_does_to_its_builtins_no_other_sees() -> None:
    spoilt = given(print)
    spoilt.clear()
    assert given(print).keys() == BUILTINS | {"__import__"}


@pytest.mark.parametrize("module", [math, cmath])
def test_a_module_is_the_job_s_own_copy_of_what_is_public(module: ModuleType) -> None:
    bring = given(print)["__import__"]
    assert callable(bring)
    name = module.__name__
    copy = bring(name, {}, {}, ("pi",), 0)
    assert copy is not module
    assert copy is not bring(name)
    public = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    assert {key: value for key, value in vars(copy).items() if not key.startswith("__")} == public


@pytest.mark.parametrize("name", ["os", "sys", "builtins", "math.os", "", "__main__"])
def test_the_importer_gives_nothing_else_whatever_is_asked(name: str) -> None:
    bring = given(print)["__import__"]
    assert callable(bring)
    with pytest.raises(ImportError, match="is not vetted"):
        bring(name)


@each_case
def test_print_prints_what_python_s_prints(code: str) -> None:
    assert as_the_worker_does(code) == as_python_does(code)
