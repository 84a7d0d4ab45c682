"""Number of tasks at once: one more after as many successes as the limit, half after a refusal. No input or output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

_auto_start = 4
#: Bounds threads and open sockets. The limit of a plan is lower, and a GPU is busy long before.
_auto_max = 64


@dataclass(frozen=True)
class Concurrency:
    limit: int
    max: int
    #: Successes since the last change.
    successes: int = 0
    #: Counts the refusals that had effect.
    epoch: int = 0


def start_concurrency(wanted: int | Literal["auto"]) -> Concurrency:
    return Concurrency(_auto_start, _auto_max) if wanted == "auto" else Concurrency(wanted, wanted)


def grow(state: Concurrency) -> Concurrency:
    successes = state.successes + 1
    if successes < state.limit:
        return replace(state, successes=successes)
    return replace(state, successes=0, limit=min(state.max, state.limit + 1))


def shrink(state: Concurrency, sent_in_epoch: int, open_tasks_max: int | None = None) -> Concurrency:
    """Halves the limit.

    Requests that were sent before the last refusal are refused for the same cause, and change nothing. A refusal that
    names the plan's limit of open tasks sets the maximum: more would only be refused again.
    """
    top = state.max if open_tasks_max is None else max(1, min(state.max, open_tasks_max))
    if sent_in_epoch < state.epoch:
        return replace(state, max=top, limit=min(state.limit, top))
    limit = min(max(1, state.limit // 2), top)
    return replace(state, limit=limit, max=top, successes=0, epoch=state.epoch + 1)
