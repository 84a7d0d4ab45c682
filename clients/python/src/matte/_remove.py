"""One image: upload, creation, wait, download."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from ._cutout import Download
from ._generated import Task
from ._input import open_input
from ._io import WireRequest, WireResponse
from ._options import CancelSignal, ImageInput, Json, Progress, RemoveManyOptions, RemoveOptions
from ._tasks import cancel_task, create_task, get_task, wait_default_seconds, wait_for_task
from ._transport import Transport, without_none
from ._upload import store_error, upload
from .errors import CanceledError, MatteError, make_error

T = TypeVar("T")

#: Part of the wait that the response to the creation waits itself.
creation_wait_seconds = 20.0
#: A canceled call waits so long for the cancellation of its task.
_cancel_limit_seconds = 10.0
cancel_timeout_seconds = 5.0

_output_names = {
    "format": "format",
    "background": "background",
    "crop": "crop",
    "crop_margin": "cropMargin",
    "max_side": "maxSide",
    "channels": "channels",
    "roi": "roi",
    "scale": "scale",
    "position": "position",
    "max_pixels": "maxPixels",
    "shadow": "shadow",
}


def check_names(call: str, options: Mapping[str, Any], allowed: Any) -> None:
    """Python itself accepts any name in `**options`. `allowed` is the class of a TypedDict."""
    for name in options:
        if name not in allowed.__optional_keys__:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")


async def remove_background(transport: Transport, input: ImageInput, options: RemoveOptions) -> Download:
    cancel, on_progress = options.get("cancel"), options.get("on_progress")
    wait = options.get("wait", wait_default_seconds)
    names = {"file_name": options.get("file_name"), "content_type": options.get("content_type")}
    source = await open_input(transport, input, cancel=cancel, **names)
    object_key = await upload(transport, source, cancel=cancel, on_progress=on_progress)
    key = options.get("idempotency_key") or str(uuid.uuid4())
    body = {"imageUrl": object_key, **build_request(options)}
    report_queued(on_progress)

    async def create(on_task: Callable[[str], None]) -> Download:
        seconds = min(creation_wait_seconds, wait)
        task = await create_task(transport, body, wait=seconds, idempotency_key=key, cancel=cancel)
        on_task(task["id"])
        return await finish_task(transport, task, wait=wait, cancel=cancel, on_progress=on_progress)

    async def find_id() -> str:
        timeout = cancel_timeout_seconds
        return (await create_task(transport, body, idempotency_key=key, timeout=timeout))["id"]

    return await canceling(transport, create, find_id)


def report_queued(on_progress: Callable[[Progress], None] | None) -> None:
    if on_progress:
        on_progress(Progress("queued"))


def build_request(options: RemoveOptions | RemoveManyOptions) -> Json:
    """Body of a creation without its image. Its fields have a fixed order, which the manifest's fingerprint needs."""
    output = without_none({api: options.get(name) for name, api in _output_names.items()})
    if "background" in output:
        output["background"] = expand_colour(output["background"])
    body = {"modelVersion": options.get("model"), "callbackUrl": options.get("callback_url"), "output": output or None}
    return without_none(body)


def expand_colour(colour: str) -> str:
    """`#rgb` and `#rgba` with each digit twice, as the service takes colours."""
    return re.sub("[^#]", r"\g<0>\g<0>", colour) if re.fullmatch("#[0-9a-fA-F]{3,4}", colour) else colour


async def finish_task(
    transport: Transport,
    task: Task,
    *,
    wait: float,
    cancel: CancelSignal | None,
    on_progress: Callable[[Progress], None] | None,
) -> Download:
    """Waits for the task and downloads its result. Errors name the task, whose result can still be fetched."""
    try:
        done = await wait_for_task(transport, task, wait=wait, cancel=cancel, on_progress=on_progress)
        return await download_result(transport, done, cancel=cancel, on_progress=on_progress)
    except CanceledError:
        raise
    except MatteError as error:
        error.task_id = error.task_id or task["id"]
        raise


async def canceling(
    transport: Transport,
    work: Callable[[Callable[[str], None]], Awaitable[T]],
    find_id: Callable[[], Awaitable[str]],
) -> T:
    """Cancels the task if the call is canceled while the task is queued. The error carries the id of the task.

    `find_id` finds a task whose creation may have arrived: the same key gives the same task. A cancellation of asyncio
    and Ctrl-C keep their own class, get the attribute `task_id`, and have the `CanceledError` as their cause.
    """
    task_id: str | None = None

    def set_id(created: str) -> None:
        nonlocal task_id
        task_id = created

    try:
        return await work(set_id)
    except (CanceledError, asyncio.CancelledError, KeyboardInterrupt) as cause:
        if isinstance(cause, CanceledError) and cause.task_id is not None:
            raise  # The task was canceled elsewhere.
        error = await _cancel(transport, task_id, find_id)
        if isinstance(cause, CanceledError):
            raise error from None
        # With another class, asyncio would not see the cancellation of a TaskGroup or a timeout.
        cause.task_id = error.task_id  # type: ignore[union-attr] # pyright: ignore[reportAttributeAccessIssue]
        raise cause from error


async def _cancel(transport: Transport, task_id: str | None, find_id: Callable[[], Awaitable[str]]) -> MatteError:
    found: str | None = task_id

    async def cancel() -> bool:
        nonlocal found
        found = found or await find_id()
        await cancel_task(transport, found, timeout=cancel_timeout_seconds)
        return True

    try:
        is_canceled = await transport.io.limited(cancel(), _cancel_limit_seconds)
    except (MatteError, asyncio.TimeoutError):
        is_canceled = False
    if found is None:
        return make_error("CLIENT_ABORTED", "The call was canceled.")
    outcome = "was canceled and is not charged" if is_canceled else "goes on and can be fetched by its id"
    message = f"The call was canceled. Its task {outcome}."
    return make_error("CLIENT_ABORTED", message, task_id=found, details={"canceled": is_canceled})


async def download_result(
    transport: Transport,
    task: Task,
    *,
    cancel: CancelSignal | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Download:
    """Downloads from the store, without the API key."""
    try:
        return await _download(transport, task, cancel, on_progress)
    except CanceledError:
        raise
    except MatteError as error:
        error.task_id = error.task_id or task["id"]
        if error.status != 403:
            raise
    # The link has expired.
    fresh = await get_task(transport, task["id"], cancel=cancel)
    return await _download(transport, fresh, cancel, on_progress)


async def _download(
    transport: Transport,
    task: Task,
    cancel: CancelSignal | None,
    on_progress: Callable[[Progress], None] | None,
) -> Download:
    url, task_id = task["resultUrl"], task["id"]
    if url is None:
        raise make_error("CLIENT_INPUT", _why_no_result(task), task_id=task_id)

    def report(loaded: int, total: int | None) -> None:
        if on_progress:
            on_progress(Progress("downloading", loaded, total, task_id))

    headers = {"user-agent": transport.config.user_agent, "accept": "*/*"}
    timeout = transport.config.timeout
    wire = WireRequest("GET", url, timeout, headers, follow_redirects=True, on_received=report)
    response = await transport.fetch(wire, _check, cancel=cancel)
    size = len(response.content)
    if on_progress:
        on_progress(Progress("done", size, size, task_id))
    kind = response.headers.get("content-type", f"image/{task['resultFormat'] or 'png'}")
    return Download(task, url, kind, response.content)


def _why_no_result(task: Task) -> str:
    if task.get("erasedAt") is not None:
        return "The images of the task were erased."
    if task["status"] == "succeeded":
        return "The task was not charged, because its image has no clear subject: it has no result."
    return f"The task is {task['status']}. Only a succeeded task has a result."


def _check(response: WireResponse) -> WireResponse:
    if 200 <= response.status < 300:
        return response
    raise store_error("download", response.status)
