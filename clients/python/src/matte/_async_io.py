"""Asynchronous input and output, for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

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


class AsyncIo:
    def __init__(self, client: httpx.AsyncClient | None) -> None:
        self._is_own = client is None
        # The hook also sees requests that follow a redirect.
        self._client = client or httpx.AsyncClient(**default_options(), event_hooks={"request": [_hide_query]})

    async def exchange(self, request: WireRequest, cancel: CancelSignal | None) -> WireResponse:
        return await _interruptible(self._exchange(request, cancel), cancel)

    async def _exchange(self, request: WireRequest, cancel: CancelSignal | None) -> WireResponse:
        content = None if request.content is None else _async_chunks(request, cancel)
        timeout = httpx.Timeout(request.timeout)
        built = self._client.build_request(
            request.method, request.url, headers=wire_headers(request), content=content, timeout=timeout
        )
        hide_query(built)
        response = await self._client.send(built, stream=True, follow_redirects=request.follow_redirects)
        try:
            body = Body(request, response, cancel)
            async for chunk in response.aiter_bytes():
                body.add(chunk)
            return body.end()
        finally:
            await response.aclose()

    async def sleep(self, seconds: float, cancel: CancelSignal | None) -> None:
        await _interruptible(asyncio.sleep(seconds), cancel)

    async def call(self, blocking: Callable[[], T]) -> T:
        return await asyncio.to_thread(blocking)

    async def limited(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        return await asyncio.wait_for(work, seconds)

    def workers(self, cancel: CancelSignal | None) -> AsyncWorkers:
        return AsyncWorkers(cancel)

    def now(self) -> float:
        return time.monotonic()

    async def aclose(self) -> None:
        if self._is_own:
            await self._client.aclose()


async def _hide_query(request: httpx.Request) -> None:
    hide_query(request)


async def _async_chunks(request: WireRequest, cancel: CancelSignal | None) -> AsyncIterator[bytes]:
    for chunk in chunks_of(request, cancel):
        yield chunk


async def _interruptible(work: Coroutine[Any, Any, T], cancel: CancelSignal | None) -> T:
    """Ends the work when the caller's signal is set. The caller's task being canceled ends it without this."""
    if cancel is None:
        return await work
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            raise_if_canceled(cancel)
            await asyncio.wait({task}, timeout=cancel_poll_seconds)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # Marks it as seen: the caller gets another error, or this one from `result`.


class AsyncWorkers:
    """A task for each worker. The caller bounds their number."""

    def __init__(self, cancel: CancelSignal | None) -> None:
        self._cancel = cancel
        self._events: asyncio.Queue[object] = asyncio.Queue()
        #: Each task, and whether it looks at the caller's signal.
        self._tasks: dict[asyncio.Task[None], bool] = {}

    def start(
        self, work: Callable[[CancelSignal | None], Coroutine[Any, Any, None]], *, sees_signal: bool = True
    ) -> None:
        task = asyncio.get_running_loop().create_task(work(self._cancel))
        self._tasks[task] = sees_signal
        task.add_done_callback(lambda task: self._tasks.pop(task, None))

    def post(self, event: object) -> None:
        self._events.put_nowait(event)

    async def next_event(self, seconds: float | None, cancel: CancelSignal | None) -> object | None:
        try:
            return await _interruptible(asyncio.wait_for(self._events.get(), seconds), cancel)
        except asyncio.TimeoutError:
            return None

    async def stop(self) -> None:
        tasks = dict(self._tasks)
        is_signaled = self._cancel is not None and self._cancel.is_set()
        for task, sees_signal in tasks.items():
            # After the signal a worker cancels its task at the service. A second cancellation would interrupt that.
            if not (is_signaled and sees_signal):
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)
