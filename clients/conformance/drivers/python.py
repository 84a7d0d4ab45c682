"""Runs calls of the Python client that arrive as lines of JSON on standard input; see support/driver.ts.

The argument chooses the client: `sync` runs each call in a thread, `async` in a task of one event loop.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
import threading
from typing import Any

from matte import AsyncMatte, Matte, MatteError

Message = dict[str, Any]
write_lock = threading.Lock()
snake_names = {"maxSide": "max_side"}


def write(message: Message) -> None:
    with write_lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def describe_error(error: BaseException) -> Message:
    if isinstance(error, asyncio.CancelledError) and error.__cause__ is not None:
        return describe_error(error.__cause__)
    if not isinstance(error, MatteError):
        return {"code": "UNTYPED", "message": str(error), "retryable": False, "type": type(error).__name__}
    return {
        "code": error.code,
        "message": str(error),
        "retryable": error.retryable,
        "requestId": error.request_id,
        "status": error.status,
        "taskId": error.task_id,
        "retryAfterMs": None if error.retry_after is None else round(error.retry_after * 1_000),
        "type": type(error).__name__,
    }


def describe_bytes(task_id: str, content_type: str, content: bytes) -> Message:
    digest = hashlib.sha256(content).hexdigest()
    return {"taskId": task_id, "contentType": content_type, "sizeBytes": len(content), "sha256": digest}


def client_options(client: Message) -> Message:
    options: Message = {"api_key": client["apiKey"], "base_url": client["baseUrl"]}
    if "timeoutMs" in client:
        options["timeout"] = client["timeoutMs"] / 1_000
    if "retriesMax" in client:
        options["retries_max"] = client["retriesMax"]
    return options


def call_options(call: Message) -> Message:
    return {snake_names.get(name, name): value for name, value in call.get("options", {}).items()}


def many_options(call: Message) -> Message:
    options = call_options(call)
    options["done"] = "download"
    for name in ("concurrency", "manifest"):
        if name in call:
            options[name] = call[name]
    return options


def verify(webhooks: Any, call: Message) -> Message:
    options: Message = {}
    if "toleranceSeconds" in call:
        options["tolerance"] = call["toleranceSeconds"]
    webhooks.verify(base64.b64decode(call["body"]), call["headers"], call["secrets"], **options)
    return {}


def run_sync(client: Message, call: Message, cancel: threading.Event) -> Message:
    with Matte(**client_options(client)) as matte:
        name = call["name"]
        if name == "verify":
            return verify(matte.webhooks, call)
        if name == "removeBackground":
            cutout = matte.remove_background(call["path"], cancel=cancel, **call_options(call))
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, cutout.bytes())]}
        if name == "download":
            cutout = matte.tasks.download(call["taskId"])
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, cutout.bytes())]}
        if name == "cutOut":
            cutout = matte.tasks.download(matte.tasks.cut_out(call["path"], output=call.get("options", {})))
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, cutout.bytes())]}
        if name == "erase":
            task_id = matte.remove_background(call["path"]).task_id
            matte.tasks.erase_images(task_id)
            cutout = matte.tasks.download(task_id)
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, cutout.bytes())]}
        if name == "listTasks":
            return {"count": sum(1 for _ in matte.tasks.list(status=call["status"]))}
        inputs = [(one["key"], one["path"]) for one in call["inputs"]]
        results = []
        for result in matte.remove_backgrounds(inputs, cancel=cancel, **many_options(call)):
            results.append(describe_result(result, result.cutout and result.cutout.bytes()))
        return {"results": results}


async def run_async(client: Message, call: Message) -> Message:
    async with AsyncMatte(**client_options(client)) as matte:
        name = call["name"]
        if name == "verify":
            return verify(matte.webhooks, call)
        if name == "removeBackground":
            cutout = await matte.remove_background(call["path"], **call_options(call))
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, await cutout.bytes())]}
        if name == "download":
            cutout = await matte.tasks.download(call["taskId"])
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, await cutout.bytes())]}
        if name == "cutOut":
            task = await matte.tasks.cut_out(call["path"], output=call.get("options", {}))
            cutout = await matte.tasks.download(task)
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, await cutout.bytes())]}
        if name == "erase":
            task_id = (await matte.remove_background(call["path"])).task_id
            await matte.tasks.erase_images(task_id)
            cutout = await matte.tasks.download(task_id)
            return {"results": [describe_bytes(cutout.task_id, cutout.content_type, await cutout.bytes())]}
        if name == "listTasks":
            count = 0
            async for _ in matte.tasks.list(status=call["status"]):
                count += 1
            return {"count": count}
        inputs = [(one["key"], one["path"]) for one in call["inputs"]]
        results = []
        async for result in matte.remove_backgrounds(inputs, **many_options(call)):
            results.append(describe_result(result, result.cutout and await result.cutout.bytes()))
        return {"results": results}


def describe_result(result: Any, content: bytes | None) -> Message:
    if result.cutout is None:
        return {"key": result.key, "error": describe_error(result.error)}
    described = describe_bytes(result.cutout.task_id, result.cutout.content_type, content or b"")
    return {"key": result.key, "resumed": result.resumed, **described}


def serve_sync() -> None:
    cancels: dict[int, threading.Event] = {}

    def answer(line: Message) -> None:
        try:
            outcome = run_sync(line["client"], line["call"], cancels[line["id"]])
        except Exception as error:
            outcome = {"error": describe_error(error)}
        write({"id": line["id"], **outcome})

    for text in sys.stdin:
        line = json.loads(text)
        if line.get("abort"):
            cancels[line["id"]].set()
        else:
            cancels[line["id"]] = threading.Event()
            threading.Thread(target=answer, args=(line,), daemon=True).start()


async def serve_async() -> None:
    tasks: dict[int, asyncio.Task[None]] = {}
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def answer(line: Message) -> None:
        try:
            outcome = await run_async(line["client"], line["call"])
        except (Exception, asyncio.CancelledError) as error:
            outcome = {"error": describe_error(error)}
        write({"id": line["id"], **outcome})

    while text := await reader.readline():
        line = json.loads(text)
        if line.get("abort"):
            tasks[line["id"]].cancel()
        else:
            tasks[line["id"]] = asyncio.create_task(answer(line))


if __name__ == "__main__":
    if sys.argv[1] == "sync":
        serve_sync()
    else:
        asyncio.run(serve_async())
