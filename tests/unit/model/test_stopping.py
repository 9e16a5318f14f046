"""An answer ends before the first text at which it is to stop, however its pieces fall."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy_services.model.engines.engine import InvalidRequest
from soliloquy_services.model.engines.grammar import MOST_STOPS, Stops


@given(
    text=st.text("ab\n", max_size=30),
    stops=st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3),
    ends=st.lists(st.integers(0, 30), max_size=6),
)
def test_pieces_give_the_text_before_the_first_stop(text: str, stops: list[str], ends: list[int]) -> None:
    cuts = [0, *sorted(min(end, len(text)) for end in ends), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    reader, said = Stops(stops), ""
    for piece in pieces:
        said += reader.more(piece)
        if reader.met:
            break
    said += "" if reader.met else reader.rest()
    met = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    assert reader.met == bool(met)
    assert said == (text[: min(met)[1]] if met else text)


def test_what_may_begin_a_stop_is_held_back_until_it_cannot() -> None:
    reader = Stops(["\n\n"])
    assert [reader.more(piece) for piece in ("one\n", "two\n", "\nthree")] == ["one", "\ntwo", ""]
    assert reader.met


@pytest.mark.parametrize("stops", [[""], ["."] * (MOST_STOPS + 1)])
def test_stops_that_cannot_be_are_refused(stops: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="use at most 16, none of them empty"):
        Stops(stops)
