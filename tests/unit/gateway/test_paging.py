import pytest

from services.gateway.paging import page
from services.gateway.refusals import Code, Refusal

ROWS = [(float(second // 2), f"run-{second}") for second in range(7)]


def test_pages_hold_every_row_once_with_the_latest_first() -> None:
    seen, token = [], ""
    while True:
        rows, token = page(ROWS, lambda row: row, 3, token)
        seen += rows
        if not token:
            break
    assert seen == sorted(ROWS, reverse=True)


def test_a_row_that_comes_meanwhile_repeats_none() -> None:
    first, token = page(ROWS, lambda row: row, 3, "")
    rest, _ = page([*ROWS, (9.0, "later")], lambda row: row, 10, token)
    assert first + rest == sorted(ROWS, reverse=True)


@pytest.mark.parametrize("token", ["x", "1:", ":a", "nan:a", "1e400:a", "-1:a", "1" * 400 + ":a", "1:a b", "1:\u0660"])
def test_a_forged_token_is_refused(token: str) -> None:
    with pytest.raises(Refusal, match="invalid page_token") as refused:
        page(ROWS, lambda row: row, 3, token)
    assert refused.value.code == Code.INVALID


@pytest.mark.parametrize("size", [-1, 501])
def test_a_page_of_another_size_than_there_are_is_refused(size: int) -> None:
    with pytest.raises(Refusal, match="send 1 to 500"):
        page(ROWS, lambda row: row, size, "")
