"""Blocking input and output, and the functions that run coroutines over it without an event loop."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

import httpx

from ._io import (
    Body,
    WireRequest,
    WireResponse,
    cancel_poll_seconds,
    chunks_of,
    default_options,
    hide_query,
    raise_if_canceled,
    wire_headers,
)
from ._options import CancelSignal

T = TypeVar("T")

#: A wait on Windows ends before it sees Ctrl-C.
_ctrl_c_poll_seconds = 0.5


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    finally:
        work.close()
    raise RuntimeError("The coroutine awaits something other than SyncIo.")


def iterate(items: AsyncIterator[T]) -> Generator[T, None, None]:
    """Iterates an asynchronous generator that never suspends. Closing it closes that generator."""
    try:
        while True:
            try:
                item = run(_next(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            run(close())


async def _next(items: AsyncIterator[T]) -> T:
    return await items.__anext__()


class SyncIo:
    def __init__(self, client: httpx.Client | None) -> None:
        self._is_own = client is None
        # The hook also sees requests that follow a redirect.
        self._client = client or httpx.Client(**default_options(), event_hooks={"request": [hide_query]})

    async def exchange(self, request: WireRequest, cancel: CancelSignal | None) -> WireResponse:
        if cancel is None:
            return self._exchange(request, None)
        return _interruptible(lambda: self._exchange(request, cancel), cancel)

    def _exchange(self, request: WireRequest, cancel: CancelSignal | None) -> WireResponse:
        content = None if request.content is None else chunks_of(request, cancel)
        timeout = httpx.Timeout(request.timeout)
        built = self._client.build_request(
            request.method, request.url, headers=wire_headers(request), content=content, timeout=timeout
        )
        hide_query(built)
        response = self._client.send(built, stream=True, follow_redirects=request.follow_redirects)
        try:
            body = Body(request, response, cancel)
            for chunk in response.iter_bytes():
                body.add(chunk)
            return body.end()
        finally:
            response.close()

    async def sleep(self, seconds: float, cancel: CancelSignal | None) -> None:
        if cancel is None:
            time.sleep(seconds)
            return
        ends_at = time.monotonic() + seconds
        while (left := ends_at - time.monotonic()) > 0:
            raise_if_canceled(cancel)
            time.sleep(min(left, cancel_poll_seconds))
        raise_if_canceled(cancel)

    async def call(self, blocking: Callable[[], T]) -> T:
        return blocking()

    async def limited(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """The time-outs of the requests limit the work: a blocking call cannot be ended from outside."""
        return await work

    def workers(self, cancel: CancelSignal | None) -> SyncWorkers:
        return SyncWorkers(cancel)

    def now(self) -> float:
        return time.monotonic()

    async def aclose(self) -> None:
        if self._is_own:
            self._client.close()


def _interruptible(blocking: Callable[[], T], cancel: CancelSignal) -> T:
    """Runs a blocking request in a thread, and leaves it there when the caller cancels.

    No other thread can end a read of httpx. The thread ends with the response, its time-out or the client's close.
    """
    outcomes: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcomes.put((True, blocking()))
        except BaseException as error:
            outcomes.put((False, error))

    raise_if_canceled(cancel)
    threading.Thread(target=work, name="matte-request", daemon=True).start()
    while True:
        try:
            succeeded, outcome = outcomes.get(timeout=cancel_poll_seconds)
        except queue.Empty:
            raise_if_canceled(cancel)
            continue
        if succeeded:
            return cast("T", outcome)
        raise outcome


class _Stop:
    """Set by `stop`, or by the caller's own signal."""

    def __init__(self, outer: CancelSignal | None) -> None:
        self._outer = outer
        self._stopped = False

    def set(self) -> None:
        self._stopped = True

    def is_set(self) -> bool:
        return self._stopped or (self._outer is not None and self._outer.is_set())


class SyncWorkers:
    """A thread for each worker. The caller bounds their number."""

    def __init__(self, cancel: CancelSignal | None) -> None:
        self._stop = _Stop(cancel)
        self._events: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._threads: set[threading.Thread] = set()

    def start(
        self, work: Callable[[CancelSignal | None], Coroutine[Any, Any, None]], *, sees_signal: bool = True
    ) -> None:
        thread = threading.Thread(target=lambda: run(work(self._stop)), name="matte-image", daemon=True)
        self._threads = {each for each in self._threads if each.is_alive()} | {thread}
        thread.start()

    def post(self, event: object) -> None:
        self._events.put(event)

    async def next_event(self, seconds: float | None, cancel: CancelSignal | None) -> object | None:
        ends_at = None if seconds is None else time.monotonic() + seconds
        while True:
            raise_if_canceled(cancel)
            step = _ctrl_c_poll_seconds if cancel is None else cancel_poll_seconds
            left = step if ends_at is None else max(0.0, ends_at - time.monotonic())
            try:
                return self._events.get(timeout=min(step, left))
            except queue.Empty:
                if ends_at is not None and time.monotonic() >= ends_at:
                    return None

    async def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
