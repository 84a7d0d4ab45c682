from __future__ import annotations

import pytest

from matte._retry import RateWindow, poll_delay, read_rate_window, read_retry_after, retry_delay


@pytest.mark.parametrize(
    ("retry", "retry_after", "draw", "expected"),
    [
        (0, None, 1.0, 0.5),
        (1, None, 1.0, 1.0),
        (3, None, 0.5, 2.0),
        (10, None, 1.0, 16.0),
        (0, None, 0.0, 0.0),
        (0, 3.0, 0.0, 3.0),
        (9, 3.0, 1.0, 3.5),
        (0, 120.0, 0.0, 120.0),
        (0, 121.0, 0.0, None),
    ],
)
def test_a_retry_comes_after_full_jitter_and_never_before_retry_after(
    retry: int, retry_after: float | None, draw: float, expected: float | None
) -> None:
    assert retry_delay(retry, retry_after, draw) == expected


def test_the_jitter_is_random() -> None:
    delays = {retry_delay(4, None) for _ in range(20)}
    assert len(delays) > 1
    assert all(delay is not None and 0 <= delay <= 8 for delay in delays)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Sat, 21 Nov 2026 09:30:05 GMT", 5.0),
        ("Sat, 21 Nov 2026 09:29:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("1.5", None),
        ("-1", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, expected: float | None) -> None:
    assert read_retry_after(header, now=1_795_253_400.0) == expected


@pytest.mark.parametrize(
    ("poll", "window", "open_polls", "expected"),
    [
        (0, None, 1, 0.25),
        (1, None, 1, 0.375),
        (9, None, 1, 2.0),
        (10_000, None, 1, 2.0),
        (0, RateWindow(1_000, 60), 1, 0.25),
        (0, RateWindow(10, 60), 1, 6.0),
        (0, RateWindow(100, 60), 10, 6.0),
        (0, RateWindow(1, 30), 10, 30.0),
        (0, RateWindow(0, 24), 1, 24.0),
    ],
)
def test_polls_back_off_and_spread_over_the_rate_window(
    poll: int, window: RateWindow | None, open_polls: int, expected: float
) -> None:
    assert poll_delay(poll, window, open_polls) == expected


def test_the_rate_window_is_read_from_the_header() -> None:
    assert read_rate_window('"default";r=1187;t=24') == RateWindow(1187, 24.0)
    assert read_rate_window("nonsense") is None
    assert read_rate_window(None) is None
