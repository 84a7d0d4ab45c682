"""Many images. Inputs are read as slots become free, so an endless iterable is fine.

One loop decides what starts; workers do the rest and post events to it. It is the only one to change the limits. A
creation that is refused for the number of open tasks goes back to the loop with its uploaded object, and is sent again
when one of our tasks has ended or after a pause. New inputs wait until then.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from ._concurrency import Concurrency, grow, shrink, start_concurrency
from ._cutout import Download
from ._io import Workers, raise_if_canceled
from ._manifest import Entry, Manifest, open_manifest, to_done
from ._one import Item, OneDeps, remove_one
from ._options import CancelSignal, ManyInput, ManyResult, Progress, RemoveManyOptions
from ._tasks import wait_default_seconds
from ._transport import Transport
from .errors import ConfigError, MatteError

CutoutType = TypeVar("CutoutType")

#: Pause before a refused creation is sent again, if none of our tasks ends before.
_pause_first_seconds = 0.5
_pause_max_seconds = 8.0


@dataclass(frozen=True)
class _Finished:
    item: Item
    download: Download | None
    entry: Entry | None
    resumed: bool


@dataclass(frozen=True)
class _Failed:
    item: Item
    error: MatteError


@dataclass(frozen=True)
class _Throttled:
    epoch: int
    retry_after: float


@dataclass(frozen=True)
class _Read:
    value: Any


@dataclass(frozen=True)
class _Ended:
    """The inputs have ended."""


@dataclass(frozen=True)
class _Crashed:
    """An error of the inputs or of a callback."""

    cause: Exception


async def remove_backgrounds(
    transport: Transport,
    inputs: Iterable[ManyInput] | AsyncIterable[ManyInput],
    options: RemoveManyOptions,
    wrap: Callable[[Download], CutoutType],
) -> AsyncGenerator[ManyResult[CutoutType], None]:
    concurrency = options.get("concurrency", "auto")
    if concurrency != "auto" and not (type(concurrency) is int and concurrency > 0):
        raise _invalid('`concurrency` must be "auto" or an integer from 1.')
    if options.get("done", "skip") not in ("skip", "download"):
        raise _invalid('`done` must be "skip" or "download".')
    if isinstance(inputs, (str, bytes, bytearray)):
        raise _invalid("Pass a list of inputs. One input is for `remove_background`.")
    path, cancel = options.get("manifest"), options.get("cancel")
    manifest = None if path is None else await transport.io.call(lambda: open_manifest(path))
    workers = transport.io.workers(cancel)
    run = _Run(transport, _Inputs(inputs), options, manifest, workers, start_concurrency(concurrency))
    try:
        while (finished := await run.next_finished()) is not None:
            if isinstance(finished, _Failed):
                yield ManyResult(finished.item.key, error=finished.error)
                continue
            if finished.download is None:
                continue
            yield ManyResult(finished.item.key, cutout=wrap(finished.download), resumed=finished.resumed)
            # The caller asks for the next one, so it has taken this one.
            await _record_done(transport, manifest, finished.entry)
    finally:
        await workers.stop()
        await run.inputs.close()
        if manifest is not None:
            await transport.io.call(manifest.close)


def _invalid(message: str) -> ConfigError:
    return ConfigError("CLIENT_CONFIG", message)


async def _record_done(transport: Transport, manifest: Manifest | None, entry: Entry | None) -> None:
    if manifest is not None and entry is not None:
        await transport.io.call(lambda: manifest.record(to_done(entry)))


class _Inputs:
    """Inputs of either kind. An asynchronous one is read by a worker: its slowness delays no result."""

    def __init__(self, inputs: Iterable[ManyInput] | AsyncIterable[ManyInput]) -> None:
        self.is_async = isinstance(inputs, AsyncIterable)
        self._iterator: Any = aiter(inputs) if isinstance(inputs, AsyncIterable) else iter(inputs)
        self.is_exhausted = False
        self.is_reading = False
        self._count = 0

    def read(self) -> object:
        try:
            return _Read(next(cast("Iterator[Any]", self._iterator)))
        except StopIteration:
            return _Ended()

    async def read_async(self) -> object:
        try:
            return _Read(await cast("AsyncIterator[Any]", self._iterator).__anext__())
        except StopAsyncIteration:
            return _Ended()
        except Exception as error:
            return _Crashed(error)

    def to_item(self, value: Any) -> Item:
        key, input = _to_named(value, self._count)
        self._count += 1
        return Item(key, input)

    async def close(self) -> None:
        """Lets a generator of the caller run its `finally`, unless it has ended."""
        close = getattr(self._iterator, "aclose" if self.is_async else "close", None)
        if self.is_exhausted or self.is_reading or close is None:
            return
        closing = close()
        if self.is_async:
            await closing


def _to_named(value: Any, index: int) -> tuple[str, Any]:
    """Inputs without a name are numbered; a manifest then needs them in the same order."""
    if isinstance(value, tuple):
        return cast("tuple[str, Any]", value)
    if isinstance(value, (str, os.PathLike)):
        path = cast("str | os.PathLike[str]", value)
        return os.fspath(path), path
    name = getattr(value, "name", None)
    return (name if isinstance(name, str) and name else str(index)), value


class _Run:
    def __init__(
        self,
        transport: Transport,
        inputs: _Inputs,
        options: RemoveManyOptions,
        manifest: Manifest | None,
        workers: Workers,
        slots: Concurrency,
    ) -> None:
        self.inputs = inputs
        self._transport = transport
        self._io = transport.io
        self._options = options
        self._manifest = manifest
        self._workers = workers
        self._slots = slots
        self._cancel = options.get("cancel")
        self._wait = options.get("wait", wait_default_seconds)
        self._running = 0
        self._refused: deque[Item] = deque()
        self._refusals = 0
        #: Nothing starts before.
        self._paused_until = 0.0
        #: No refused creation is sent again before.
        self._refused_until = 0.0

    async def next_finished(self) -> _Finished | _Failed | None:
        """The next outcome; None after the last one."""
        while True:
            raise_if_canceled(self._cancel)
            self._start_what_fits()
            if self._is_over():
                return None
            event = await self._workers.next_event(self._seconds_to_wait(), self._cancel)
            outcome = self._apply(event)
            if outcome is not None:
                return outcome

    def _is_over(self) -> bool:
        return self.inputs.is_exhausted and self._running == 0 and not self._refused

    def _seconds_to_wait(self) -> float | None:
        due = max(self._paused_until, self._refused_until if self._refused else 0)
        left = due - self._io.now()
        return left if left > 0 else None

    def _start_what_fits(self) -> None:
        while self._running < self._slots.limit and self._io.now() >= self._paused_until:
            if self._refused:
                if self._io.now() < self._refused_until:
                    return
                self._refused_until = self._io.now() + self._pause()
                self._start(self._refused.popleft())
            elif not self._start_next_input():
                return

    def _start_next_input(self) -> bool:
        """False: there is none at the moment."""
        inputs = self.inputs
        if inputs.is_exhausted or inputs.is_reading:
            return False
        if not inputs.is_async:
            self._apply(inputs.read())
            return True
        inputs.is_reading = True
        self._workers.start(self._read, sees_signal=False)
        return False

    async def _read(self, _stop: CancelSignal | None) -> None:
        self._workers.post(await self.inputs.read_async())

    def _start(self, item: Item) -> None:
        self._running += 1
        item.epoch = self._slots.epoch
        self._workers.start(lambda stop: self._work(item, stop))

    async def _work(self, item: Item, stop: CancelSignal | None) -> None:
        deps = OneDeps(self._transport, self._manifest, stop, self._report_of(item), self._throttle_of(item))
        try:
            download, entry, resumed = await remove_one(deps, item, self._options)
            self._workers.post(_Finished(item, download, entry, resumed))
        except MatteError as error:
            self._workers.post(_Failed(item, error))
        except Exception as error:
            self._workers.post(_Crashed(error))

    def _report_of(self, item: Item) -> Callable[[Progress], None] | None:
        on_progress = self._options.get("on_progress")
        if on_progress is None:
            return None
        return lambda progress: on_progress(replace(progress, key=item.key))

    def _throttle_of(self, item: Item) -> Callable[[float], None]:
        return lambda retry_after: self._workers.post(_Throttled(item.epoch, retry_after))

    def _apply(self, event: object) -> _Finished | _Failed | None:
        if isinstance(event, _Read):
            self.inputs.is_reading = False
            self._start(self.inputs.to_item(event.value))
        elif isinstance(event, _Ended):
            self.inputs.is_reading = False
            self.inputs.is_exhausted = True
        elif isinstance(event, _Crashed):
            raise event.cause
        elif isinstance(event, _Throttled):
            self._throttle(event)
        elif isinstance(event, (_Finished, _Failed)):
            return self._finish(event)
        return None

    def _finish(self, event: _Finished | _Failed) -> _Finished | _Failed | None:
        self._running -= 1
        if isinstance(event, _Failed):
            if self._is_refusal(event):
                self._refuse(event)
                return None
        elif event.download is not None:
            self._slots = grow(self._slots)
            self._refusals = 0
        # A task has ended, so the service takes another one.
        self._refused_until = 0.0
        return event

    def _is_refusal(self, event: _Failed) -> bool:
        """The service refused the creation for now, and the item may wait longer."""
        code, item = event.error.code, event.item
        if event.error.task_id is not None or code not in ("TASK_CONCURRENT_LIMIT", "RATE_LIMIT_EXCEEDED"):
            return False
        now = self._io.now()
        item.refused_since = now if item.refused_since is None else item.refused_since
        return now + (event.error.retry_after or 0) < item.refused_since + self._wait

    def _refuse(self, event: _Failed) -> None:
        limit = event.error.details.get("limit")
        is_task_limit = event.error.code == "TASK_CONCURRENT_LIMIT"
        named = limit if is_task_limit and isinstance(limit, int) else None
        self._slots = shrink(self._slots, event.item.epoch, named)
        self._refusals += 1
        self._refused_until = self._io.now() + max(self._pause(), event.error.retry_after or 0)
        self._refused.append(event.item)

    def _throttle(self, event: _Throttled) -> None:
        self._slots = shrink(self._slots, event.epoch)
        self._paused_until = max(self._paused_until, self._io.now() + event.retry_after)

    def _pause(self) -> float:
        draw = self._transport.draw
        bound = min(_pause_max_seconds, _pause_first_seconds * 2.0 ** min(self._refusals, 8))
        return (random.random() if draw is None else draw) * bound
