import math

import pytest

from soliloquy_services.gateway.paging import page
from soliloquy_services.gateway.refusals import Code, Refusal

ROWS = [(float(second // 2), f"run-{second}") for second in range(7)]
NOW = 1_764_236_001.2345678
# Neighbours that differ by the least that two times can, and times that no clock has.
CLOSE = [(time, "run") for time in (NOW, math.nextafter(NOW, 0), math.nextafter(NOW, math.inf), 1e-7, -1.0, 1e300)]
# Ids of letters that others wrote.
FOREIGN = [(2.0, name) for name in ("urn:uuid:1", "a b", "1:2", "\u0660\n", "")]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("rows", [ROWS, CLOSE, FOREIGN], ids=["usual", "close", "foreign"])
def test_pages_hold_every_row_once_with_the_latest_first(rows: list[tuple[float, str]], size: int) -> None:
    seen, token = [], ""
    for _ in rows:
        chosen, token = page(rows, lambda row: row, size, token)
        seen += chosen
        if not token:
            break
    assert (seen, token) == (sorted(rows, reverse=True), "")


def test_a_row_that_comes_meanwhile_repeats_none() -> None:
    first, token = page(ROWS, lambda row: row, 3, "")
    rest, _ = page([*ROWS, (9.0, "later")], lambda row: row, 10, token)
    assert first + rest == sorted(ROWS, reverse=True)


@pytest.mark.parametrize("token", ["x", "1", ":a", "nan:a", "1e400:a", "1" * 400 + ":a", "\u0661:a"])
def test_a_forged_token_is_refused(token: str) -> None:
    with pytest.raises(Refusal, match="invalid page_token") as refused:
        page(ROWS, lambda row: row, 3, token)
    assert refused.value.code == Code.INVALID


@pytest.mark.parametrize("size", [-1, 501])
def test_a_page_of_another_size_than_there_are_is_refused(size: int) -> None:
    with pytest.raises(Refusal, match="send 1 to 500"):
        page(ROWS, lambda row: row, size, "")
