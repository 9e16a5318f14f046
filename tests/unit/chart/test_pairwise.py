from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.chart.pairwise import pairwise

levels = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)


# Other processes may keep the cores busy for seconds.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from(["kafka", "model", "scaling", "sandbox", "store"]), levels, min_size=2))
def test_every_two_choices_meet(choices: dict[str, list[str]]) -> None:
    rows = pairwise(choices)
    met = {frozenset(pair) for row in rows for pair in combinations(row.items(), 2)}
    wanted = {
        frozenset(((one, a), (other, b)))
        for one, other in combinations(choices, 2)
        for a in choices[one]
        for b in choices[other]
    }
    assert met == wanted
