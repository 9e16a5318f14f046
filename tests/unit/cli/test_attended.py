"""Promises of commands that ask their models about one case after the other."""

import asyncio

import pytest

from soliloquy.cli.attended import AttendedModels
from soliloquy.runtime.failure import Broken
from soliloquy.runtime.model.settings import Endpoint, Models, Role

_ROLE = Role(temperature=1.0, top_p=1.0, max_tokens=1, endpoint="own")
_MODELS = Models(endpoints={"own": Endpoint(engine="scripted")}, roles={"tutor": (_ROLE,)})


async def test_a_case_that_fails_ends_the_others_before_the_models_close() -> None:
    begun, ended = list[int](), list[int]()

    async def ask(case: int, _: object) -> None:
        begun.append(case)
        if len(begun) == 3:
            raise Broken("one fails")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(case)

    asked = AttendedModels(models=_MODELS, record=None, wait=False)
    with pytest.raises(Broken, match="one fails"):
        await asked.ask_about_each(range(9), ask, "cases", in_flight=4, quiet=True)
    assert sorted(ended) == sorted(begun[:2] + begun[3:])
