"""Requests for tasks, and the wait for their end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ._generated import Task
from ._input import Source
from ._options import CancelSignal, Json, Progress
from ._retry import poll_delay
from ._transport import Transport, to_json
from .errors import MatteError, TaskFailedError, make_error

task_root = "/open/developer/tasks"
wait_default_seconds = 600.0

#: Part of the time-out that is left for the response itself.
_answer_seconds = 5.0


async def create_task(
    transport: Transport,
    body: Json,
    *,
    wait: float = 0,
    idempotency_key: str | None = None,
    cancel: CancelSignal | None = None,
    timeout: float | None = None,
    on_throttled: Callable[[float], None] | None = None,
) -> Task:
    seconds = _wait_of(wait, timeout or transport.config.timeout)
    return await transport.request(
        Task,
        "POST",
        task_root,
        body=body,
        headers={"prefer": f"wait={seconds}"} if seconds > 0 else None,
        idempotency_key=idempotency_key,
        cancel=cancel,
        timeout=timeout,
        on_throttled=on_throttled,
    )


def _wait_of(wait: float, timeout: float) -> int:
    """Whole seconds that leave time for the response itself."""
    return max(0, math.floor(min(wait, timeout - _answer_seconds)))


async def cut_out(
    transport: Transport, source: Source, fields: Json, *, wait: float | None = None, idempotency_key: str | None = None
) -> Task:
    timeout = transport.config.timeout
    seconds = _wait_of(timeout if wait is None else wait, timeout)
    query = {name: to_json(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    return await transport.request(
        Task,
        "POST",
        "/open/developer/cut-outs",
        query=query,
        content=await transport.io.call(source.read),
        headers={"prefer": f"wait={seconds}", "content-type": source.content_type},
        idempotency_key=idempotency_key,
    )


async def get_task(transport: Transport, task_id: str, *, cancel: CancelSignal | None = None) -> Task:
    return await transport.request(Task, "GET", f"{task_root}/{{id}}", values={"id": task_id}, cancel=cancel)


async def cancel_task(transport: Transport, task_id: str, *, timeout: float | None = None) -> Task:
    """Returns a task that is canceled already: the first response may have been lost."""
    path, values = f"{task_root}/{{id}}", {"id": task_id}
    try:
        return await transport.request(Task, "DELETE", path, values=values, timeout=timeout)
    except MatteError as error:
        if error.code != "TASK_CANNOT_CANCEL":
            raise
        task = await transport.request(Task, "GET", path, values=values, timeout=timeout)
        if task["status"] == "canceled":
            return task
        error.task_id = task_id
        raise


async def wait_for_task(
    transport: Transport,
    task_or_id: Task | str,
    *,
    wait: float = wait_default_seconds,
    cancel: CancelSignal | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Task:
    """Returns the succeeded task; polls no faster than the rate limit allows."""
    io = transport.io
    ends_at = io.now() + wait
    task = task_or_id if not isinstance(task_or_id, str) else await get_task(transport, task_or_id, cancel=cancel)
    poll = 0
    marker = object()
    transport.polls.add(marker)
    try:
        while task["status"] in ("queued", "processing"):
            _report(task, on_progress)
            left = ends_at - io.now()
            if left <= 0:
                raise _still_open(task, wait)
            await io.sleep(min(left, poll_delay(poll, transport.rate_window(), len(transport.polls))), cancel)
            task = await get_task(transport, task["id"], cancel=cancel)
            poll += 1
    finally:
        transport.polls.discard(marker)
    if task["status"] == "succeeded":
        return task
    raise _not_succeeded(task)


def _report(task: Task, on_progress: Callable[[Progress], None] | None) -> None:
    if on_progress and task["status"] in ("queued", "processing"):
        on_progress(Progress("queued" if task["status"] == "queued" else "processing", task_id=task["id"]))


def _still_open(task: Task, wait: float) -> MatteError:
    message = f"The task is still {task['status']} after {wait:g} s. Wait again by its id."
    return make_error("CLIENT_TIMEOUT", message, retryable=True, task_id=task["id"])


def _not_succeeded(task: Task) -> MatteError:
    details = {"task": task}
    failure = task["failure"]
    if failure is None:
        return make_error("CLIENT_ABORTED", "The task was canceled.", task_id=task["id"], details=details)
    fields: Json = {"retryable": failure["retryable"], "task_id": task["id"], "details": details}
    # Also for a reason that a later version of the service adds.
    return TaskFailedError(failure["reason"], failure["message"], **fields)
