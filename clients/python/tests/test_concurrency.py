from __future__ import annotations

from matte._concurrency import Concurrency, grow, shrink, start_concurrency


def after_successes(state: Concurrency, count: int) -> Concurrency:
    for _ in range(count):
        state = grow(state)
    return state


def test_auto_starts_at_4_and_grows_by_one_after_as_many_successes() -> None:
    state = start_concurrency("auto")
    assert state.limit == 4
    assert after_successes(state, 3).limit == 4
    assert after_successes(state, 4).limit == 5
    assert after_successes(state, 4 + 5 + 6).limit == 7


def test_auto_ends_at_its_maximum() -> None:
    assert after_successes(start_concurrency("auto"), 10_000).limit == 64


def test_a_fixed_number_is_the_maximum() -> None:
    state = shrink(start_concurrency(3), 0)
    assert state.limit == 1
    assert after_successes(state, 100).limit == 3


def test_refusals_of_one_moment_halve_the_limit_once() -> None:
    state = after_successes(start_concurrency("auto"), 4 + 5 + 6 + 7)
    assert state.limit == 8
    halved = shrink(shrink(shrink(state, 0), 0), 0)
    assert halved.limit == 4
    assert shrink(halved, halved.epoch).limit == 2


def test_the_limit_never_falls_below_one() -> None:
    state = start_concurrency(1)
    assert shrink(shrink(state, 0), 1).limit == 1


def test_a_refusal_that_names_the_limit_of_open_tasks_sets_the_maximum() -> None:
    state = shrink(start_concurrency("auto"), 0, 2)
    assert (state.limit, state.max) == (2, 2)
    assert after_successes(state, 50).limit == 2
    assert shrink(start_concurrency(9), 0, 0).limit == 1
