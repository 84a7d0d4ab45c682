"""A program that mypy and pyright check in strict mode; it is never run."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

import matte
from matte import AsyncMatte, Batch, Cutout, ManyResult, Matte, MatteError, Progress, Task, verify_webhook

if TYPE_CHECKING:
    from typing_extensions import assert_type


def use_sync(client: Matte, photo: Image.Image) -> None:
    cutout = client.remove_background("a.png", format="webp", background="#fff", crop=True, on_progress=show)
    assert_type(cutout, Cutout)
    assert_type(cutout.bytes(), bytes)
    assert_type(cutout.task, Task)
    assert_type(cutout.image().size, tuple[int, int])
    for source in (Path("a.png"), b"", io.BytesIO(), photo):
        client.remove_background(source)
    for result in client.remove_backgrounds([("a", b""), Path("b.png")], concurrency="auto", manifest="m"):
        assert_type(result, ManyResult[Cutout])
        assert_type(result.error, MatteError | None)
    for task in client.tasks.list(status="failed"):
        assert_type(task["resultUrl"], str | None)
    assert_type(client.batches.create(image_urls=["a"], output={"cropMargin": "5%"}), Batch)
    client.remove_background("a.png", format="gif")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    client.remove_background("a.png", colour="red")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


async def use_async(client: AsyncMatte) -> None:
    cutout = await client.remove_background("a.png", wait=60)
    assert_type(await cutout.bytes(), bytes)
    async for result in client.remove_backgrounds(["a.png"], done="download"):
        assert_type(result.cutout, matte.AsyncCutout | None)
    page = await client.webhooks.deliveries("x").page()
    assert_type(page.items, list[matte.Delivery])


def receive(body: bytes, headers: dict[str, str]) -> str | None:
    event = verify_webhook(body, headers, ["new", "old"], tolerance=60)
    return event["task_id"] if event["event"] == "task.succeeded" else None


def show(progress: Progress) -> None:
    print(progress.state, progress.loaded_bytes)
