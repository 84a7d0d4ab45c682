"""Schedules of retries and polls; pure functions.

Retries have full jitter below a doubling bound, and come no earlier than the service asks for.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_base_seconds = 0.5
_cap_seconds = 16.0
#: A longer `Retry-After` is the caller's decision: the call fails at once, and the error carries it.
retry_after_max_seconds = 120.0

_poll_first_seconds = 0.25
_poll_max_seconds = 2.0
_poll_growth = 1.5

_rate_limit = re.compile(r";r=([0-9]+);t=([0-9]+)")


def retry_delay(retry: int, retry_after: float | None, draw: float | None = None) -> float | None:
    """Seconds before retry number `retry`, from 0. None: the service asks for too long a wait.

    `draw` replaces the random number between 0 and 1.
    """
    share = random.random() if draw is None else draw
    jitter = share * min(_cap_seconds, _base_seconds * 2.0**retry)
    if retry_after is None:
        return jitter
    if retry_after > retry_after_max_seconds:
        return None
    # Callers that were refused together do not return together.
    return retry_after + min(jitter, _base_seconds)


def read_retry_after(header: str | None, now: float) -> float | None:
    """Seconds of `Retry-After`: whole seconds, or an HTTP date compared with the Unix time `now`."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


@dataclass(frozen=True)
class RateWindow:
    """Requests that the service still allows, and the seconds to the end of the window."""

    remaining: int
    reset_seconds: float


def read_rate_window(header: str | None) -> RateWindow | None:
    """`RateLimit` counts from now, so the clocks of both sides do not matter."""
    match = _rate_limit.search(header or "")
    return RateWindow(int(match[1]), float(match[2])) if match else None


def poll_delay(poll: int, window: RateWindow | None, open_polls: int = 1) -> float:
    """Seconds before poll number `poll`, from 0.

    They grow from 0.25 to 2 and spread the polls of all open tasks over the rest of the window.
    """
    delay = min(_poll_max_seconds, _poll_first_seconds * _poll_growth ** min(poll, 32))
    if window is None:
        return delay
    if window.remaining <= 0:
        return max(delay, window.reset_seconds)
    return max(delay, min(window.reset_seconds, window.reset_seconds * open_polls / window.remaining))
