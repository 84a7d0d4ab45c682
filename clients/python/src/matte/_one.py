"""One of many images: continues from its entry in the manifest, or begins with an upload."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ._cutout import Download
from ._generated import Task, TaskPage
from ._input import Source, open_input
from ._manifest import Entry, Manifest, fingerprint, to_text, to_time
from ._options import CancelSignal, Json, Progress, RemoveManyOptions
from ._remove import build_request, cancel_timeout_seconds, canceling, creation_wait_seconds, finish_task, report_queued
from ._tasks import create_task, get_task, task_root, wait_default_seconds
from ._transport import Transport
from ._upload import upload
from .errors import MatteError

#: The service remembers a key for 24 hours.
_key_life = timedelta(hours=23)
_page_size_max = 100


@dataclass
class Item:
    """An input on its way. What is done survives a refusal."""

    key: str
    input: Any
    source: Source | None = None
    #: Set once the image is uploaded.
    entry: Entry | None = None
    #: Epoch of the concurrency in which it was started.
    epoch: int = 0
    refused_since: float | None = None


@dataclass(frozen=True)
class OneDeps:
    transport: Transport
    manifest: Manifest | None
    cancel: CancelSignal | None
    on_progress: Callable[[Progress], None] | None
    on_throttled: Callable[[float], None]


#: Result, entry and whether an earlier run created the task. Without a result, the manifest records the input as done.
Outcome = tuple["Download | None", "Entry | None", bool]


async def remove_one(deps: OneDeps, item: Item, options: RemoveManyOptions) -> Outcome:
    request = build_request(options)
    if item.entry is None:
        found = await _continue(deps, item, options, request)
        if found is not None:
            return found
        entry = await _upload(deps, item, request)
        await _record(deps, entry)
        item.entry, item.source = entry, None
    download, entry = await _create_and_finish(deps, item.entry, options, request)
    return download, entry, False


async def _continue(deps: OneDeps, item: Item, options: RemoveManyOptions, request: Json) -> Outcome | None:
    """Outcome of what an earlier run began; None: the image must be uploaded."""
    content_type = options.get("content_type")
    item.source = item.source or await open_input(
        deps.transport, item.input, file_name=None, content_type=content_type, cancel=deps.cancel
    )
    known = await _find_entry(deps, item, request)
    if known is None:
        return None
    if known.state == "done" and options.get("done", "skip") == "skip":
        return None, known, True
    task = await _find_task(deps, known, request)
    if task is None:
        return None
    entry = replace(known, task_id=task["id"])

    async def finish(on_task: Callable[[str], None]) -> Download:
        on_task(task["id"])
        return await _finish(deps, task, options)

    async def find_id() -> str:
        return task["id"]

    return await canceling(deps.transport, finish, find_id), entry, True


async def _find_entry(deps: OneDeps, item: Item, request: Json) -> Entry | None:
    manifest, source = deps.manifest, item.source
    if manifest is None or source is None:
        return None
    text = await deps.transport.io.call(source.fingerprint)
    return manifest.find(item.key, fingerprint(text, request))


async def _upload(deps: OneDeps, item: Item, request: Json) -> Entry:
    source = item.source
    assert source is not None
    object_key = await upload(deps.transport, source, cancel=deps.cancel, on_progress=deps.on_progress)
    text = "" if deps.manifest is None else await deps.transport.io.call(source.fingerprint)
    return Entry(
        key=item.key,
        input=fingerprint(text, request),
        state="creating",
        idempotency_key=str(uuid.uuid4()),
        object_key=object_key,
        at=to_text(datetime.now(timezone.utc)),
    )


async def _create_and_finish(
    deps: OneDeps, entry: Entry, options: RemoveManyOptions, request: Json
) -> tuple[Download, Entry]:
    report_queued(deps.on_progress)

    async def create(on_task: Callable[[str], None]) -> tuple[Download, Entry]:
        wait = min(creation_wait_seconds, options.get("wait", wait_default_seconds))
        task = await _send_creation(deps, entry, request, wait=wait)
        on_task(task["id"])
        created = replace(entry, state="created", task_id=task["id"])
        await _record(deps, created)
        return await _finish(deps, task, options), created

    async def find_id() -> str:
        body = {"imageUrl": entry.object_key, **request}
        key, timeout = entry.idempotency_key, cancel_timeout_seconds
        return (await create_task(deps.transport, body, idempotency_key=key, timeout=timeout))["id"]

    return await canceling(deps.transport, create, find_id)


async def _send_creation(deps: OneDeps, entry: Entry, request: Json, *, wait: float) -> Task:
    return await create_task(
        deps.transport,
        {"imageUrl": entry.object_key, **request},
        wait=wait,
        idempotency_key=entry.idempotency_key,
        cancel=deps.cancel,
        on_throttled=deps.on_throttled,
    )


async def _finish(deps: OneDeps, task: Task, options: RemoveManyOptions) -> Download:
    wait = options.get("wait", wait_default_seconds)
    return await finish_task(deps.transport, task, wait=wait, cancel=deps.cancel, on_progress=deps.on_progress)


async def _record(deps: OneDeps, entry: Entry) -> None:
    manifest = deps.manifest
    if manifest is not None:
        await deps.transport.io.call(lambda: manifest.record(entry))


async def _find_task(deps: OneDeps, entry: Entry, request: Json) -> Task | None:
    """The task of an earlier run, unless it is gone or has ended without a result."""
    try:
        task = await _read_task(deps, entry, request)
    except MatteError as error:
        # The task or its unused upload was deleted.
        if error.status == 404 or error.code == "TASK_INPUT_FORBIDDEN":
            return None
        raise
    return None if task is None or task["status"] in ("failed", "canceled") else task


async def _read_task(deps: OneDeps, entry: Entry, request: Json) -> Task | None:
    if entry.task_id is not None:
        return await get_task(deps.transport, entry.task_id, cancel=deps.cancel)
    if datetime.now(timezone.utc) - to_time(entry.at) < _key_life:
        return await _send_creation(deps, entry, request, wait=0)
    return await _find_by_object(deps, entry)


async def _find_by_object(deps: OneDeps, entry: Entry) -> Task | None:
    """Looks for the task of an upload among those that were created on the day after the entry."""
    end = to_text(to_time(entry.at) + 2 * _key_life)
    query: Json = {"pageSize": _page_size_max, "startDate": entry.at, "endDate": end}
    while True:
        page = await deps.transport.request(TaskPage, "GET", task_root, query=query, cancel=deps.cancel)
        for task in page["items"]:
            if task["sourceUrl"] == entry.object_key:
                return task
        if page["nextCursor"] is None:
            return None
        query["cursor"] = page["nextCursor"]
