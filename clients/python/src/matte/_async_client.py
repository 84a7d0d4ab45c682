"""The asynchronous client. Its operations are also the core of the synchronous one; see _sync_client.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import httpx

from . import webhooks as webhook_module
from ._async_io import AsyncIo
from ._config import read_config
from ._cutout import AsyncCutout
from ._generated import (
    ApiKey,
    Batch,
    BatchSummary,
    Deleted,
    Delivery,
    DeliveryStatus,
    EventName,
    FetchedUpload,
    Model,
    NewWebhookEndpoint,
    Output,
    RotatedWebhookEndpoint,
    SigningSecret,
    Task,
    TaskStatus,
    TriggeredWebhook,
    UploadGrant,
    Usage,
    WebhookDeliveryDetails,
    WebhookEgressAddresses,
    WebhookEndpoint,
    WebhookEventDeliveries,
    WebhookRecovery,
    WebhookStats,
)
from ._input import open_input
from ._many import remove_backgrounds
from ._options import (
    CancelSignal,
    ImageInput,
    Json,
    ManyInput,
    ManyResult,
    Page,
    Progress,
    RemoveManyOptions,
    RemoveOptions,
)
from ._remove import check_names, download_result, remove_background
from ._tasks import cancel_task, create_task, cut_out, get_task, task_root, wait_for_task
from ._transport import Transport, without_none
from ._upload import upload

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")

_root = "/open/developer"
_batch_root = f"{_root}/batch-tasks"
_webhook_root = f"{_root}/webhooks"
_page_size_max = 100


class AsyncListing(Generic[T]):
    """A list of the service. Iteration reads all records, page by page, by cursor."""

    def __init__(self, read: Callable[[Json], Awaitable[Json]], query: Json) -> None:
        self._read = read
        self._query = without_none(query)

    async def page(self) -> Page[T]:
        """One page, as the query asks."""
        return self._to_page(await self._read(self._query))

    async def all(self) -> list[T]:
        """All records in one list."""
        return [one async for one in self]

    async def __aiter__(self) -> AsyncIterator[T]:
        query: Json = {"pageSize": _page_size_max, **self._query}
        while True:
            page = self._to_page(await self._read(query))
            for item in page.items:
                yield item
            if page.next_cursor is None or page.next_cursor == query.get("cursor"):
                return
            query.pop("page", None)
            query["cursor"] = page.next_cursor

    def _to_page(self, data: Json) -> Page[T]:
        return Page(
            items=data["items"],
            page=data["page"],
            page_size=data["pageSize"],
            total=data["total"],
            total_pages=data["totalPages"],
            next_cursor=data["nextCursor"],
            total_is_minimum=data.get("totalIsMinimum", False),
        )


class AsyncUploads:
    """Upload grants, and uploads by them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, *, file_name: str, content_type: str, file_size: int | None = None) -> UploadGrant:
        body = {"fileName": file_name, "contentType": content_type, "fileSize": file_size}
        return await self._transport.request(UploadGrant, "POST", f"{_root}/uploads/presign", body=body)

    async def fetch(self, url: str) -> FetchedUpload:
        """Lets the service download an image by its URL, if the installation allows it."""
        return await self._transport.request(FetchedUpload, "POST", f"{_root}/uploads/fetch", body={"url": url})

    async def put(
        self,
        input: ImageInput,
        *,
        file_name: str | None = None,
        content_type: str | None = None,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> str:
        """Uploads an image and returns its object key, the `image_url` of `tasks.create` and `batches.create`."""
        names = {"file_name": file_name, "content_type": content_type}
        source = await open_input(self._transport, input, cancel=cancel, **names)
        return await upload(self._transport, source, cancel=cancel, on_progress=on_progress)


class AsyncTasks:
    """Tasks of the workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        image_url: str,
        model: str | None = None,
        callback_url: str | None = None,
        output: Output | Mapping[str, Any] | None = None,
        retention: int | None = None,
        wait: float = 0,
        idempotency_key: str | None = None,
    ) -> Task:
        """Creates a task for an uploaded image. The response waits up to `wait` seconds for the task to end.

        `output` has the names of the API, such as `cropMargin`. `retention`: seconds from the end of the task to its
        deletion with its images, at least 600.
        """
        names = {"imageUrl": image_url, "modelVersion": model, "callbackUrl": callback_url}
        body = {**names, "output": output, "retention": retention}
        return await create_task(self._transport, without_none(body), wait=wait, idempotency_key=idempotency_key)

    async def cut_out(
        self,
        input: ImageInput,
        *,
        model: str | None = None,
        callback_url: str | None = None,
        output: Output | Mapping[str, Any] | None = None,
        retention: int | None = None,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> Task:
        """Uploads an image and creates its task in one request, for images of a few MB.

        The response waits up to `wait` seconds for the task to end, by default as long as the service allows. `output`
        and `retention` are those of `create`.
        """
        source = await open_input(self._transport, input, file_name=None, content_type=None, cancel=None)
        names = {"modelVersion": model, "callbackUrl": callback_url, "retention": retention}
        fields = without_none({**names, **(output or {})})
        return await cut_out(self._transport, source, fields, wait=wait, idempotency_key=idempotency_key)

    async def get(self, task_id: str) -> Task:
        return await get_task(self._transport, task_id)

    def list(
        self,
        *,
        status: TaskStatus | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        min_confidence: float | None = None,
        max_confidence: float | None = None,
        page: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[Task]:
        """Tasks, newest first. `max_confidence=0.89` finds results to check."""
        query = {"status": status, "startDate": start_date, "endDate": end_date}
        bounds = {"minConfidence": min_confidence, "maxConfidence": max_confidence}
        paging = {"page": page, "pageSize": page_size, "cursor": cursor}
        return AsyncListing(self._transport.reader(task_root), {**query, **bounds, **paging})

    async def cancel(self, task_id: str) -> Task:
        """Cancels a task that is still queued."""
        return await cancel_task(self._transport, task_id)

    async def erase_images(self, task_id: str) -> Task:
        """Erases photo, result and previews of an ended task within a minute; links to them end.

        The task stays in the history without the file name.
        """
        path = f"{task_root}/{{id}}/images"
        return await self._transport.request(Task, "DELETE", path, values={"id": task_id})

    async def retry(self, task_id: str, *, idempotency_key: str | None = None) -> Task:
        """Queues a failed task again. It is charged like a new one."""
        path = f"{task_root}/{{id}}/retry"
        return await self._transport.request(
            Task, "POST", path, values={"id": task_id}, idempotency_key=idempotency_key
        )

    async def wait(
        self,
        task_id: str,
        *,
        wait: float = 600,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Task:
        """Returns the succeeded task. Raises `TaskFailedError` with the reason, or `TimeoutError` after `wait`."""
        return await wait_for_task(self._transport, task_id, wait=wait, cancel=cancel, on_progress=on_progress)

    async def download(
        self,
        task: str | Task,
        *,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> AsyncCutout:
        """Downloads the result of a succeeded task."""
        known = await get_task(self._transport, task) if isinstance(task, str) else task
        return AsyncCutout(await download_result(self._transport, known, cancel=cancel, on_progress=on_progress))


class AsyncBatches:
    """Batches of tasks that are created together."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        image_urls: Iterable[str],
        model: str | None = None,
        callback_url: str | None = None,
        output: Output | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Creates a task for each uploaded image, all or none."""
        body = {"imageUrls": list(image_urls), "modelVersion": model, "callbackUrl": callback_url, "output": output}
        path, key = _batch_root, idempotency_key
        return await self._transport.request(Batch, "POST", path, body=without_none(body), idempotency_key=key)

    async def get(self, batch_id: str) -> Batch:
        return await self._transport.request(Batch, "GET", f"{_batch_root}/{{id}}", values={"id": batch_id})

    def list(
        self, *, page: int | None = None, page_size: int | None = None, cursor: str | None = None
    ) -> AsyncListing[BatchSummary]:
        """Batches without their tasks, newest first."""
        paging = {"page": page, "pageSize": page_size, "cursor": cursor}
        return AsyncListing(self._transport.reader(_batch_root), paging)

    async def cancel(self, batch_id: str) -> Batch:
        """Cancels the queued tasks of a batch."""
        return await self._transport.request(Batch, "DELETE", f"{_batch_root}/{{id}}", values={"id": batch_id})


class AsyncWebhooks:
    """Webhook endpoints and deliveries."""

    verify = staticmethod(webhook_module.verify)

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        target_url: str,
        event_types: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> NewWebhookEndpoint:
        """Creates an endpoint. Only this response has its `signingSecret`. `headers` go with each delivery."""
        body = {
            "targetUrl": target_url,
            "eventTypes": list(event_types),
            "headers": None if headers is None else dict(headers),
            "description": description,
        }
        path, key = _webhook_root, idempotency_key
        return await self._transport.request(
            NewWebhookEndpoint, "POST", path, body=without_none(body), idempotency_key=key
        )

    def list(self) -> AsyncListing[WebhookEndpoint]:
        return AsyncListing(self._transport.reader(_webhook_root), {})

    async def get(self, webhook_id: str) -> WebhookEndpoint:
        return await self._send(WebhookEndpoint, "GET", "", webhook_id)

    async def update(
        self,
        webhook_id: str,
        *,
        target_url: str | None = None,
        event_types: Iterable[str] | None = None,
        headers: Mapping[str, str | None] | None = None,
        description: str | None = None,
        status: Literal["enabled", "disabled"] | None = None,
    ) -> WebhookEndpoint:
        """Changes the given fields. An empty description removes it, and so does `None` for one of `headers`."""
        events = None if event_types is None else list(event_types)
        own = None if headers is None else dict(headers)
        body = {"targetUrl": target_url, "eventTypes": events, "headers": own, "description": description}
        body["status"] = status
        return await self._send(WebhookEndpoint, "PATCH", "", webhook_id, body=without_none(body))

    async def delete(self, webhook_id: str) -> Deleted:
        return await self._send(Deleted, "DELETE", "", webhook_id)

    async def rotate_secret(self, webhook_id: str, *, overlap_seconds: int | None = None) -> RotatedWebhookEndpoint:
        """Returns the new secret. The previous one stays valid for the overlap, a day by default."""
        body = without_none({"overlapSeconds": overlap_seconds})
        return await self._send(RotatedWebhookEndpoint, "POST", "/rotate-secret", webhook_id, body=body)

    async def test(self, webhook_id: str) -> Delivery:
        """Sends `test.webhook`. The response has the recorded attempt."""
        return await self._send(Delivery, "POST", "/test", webhook_id)

    async def sample(self, webhook_id: str, event: EventName) -> Delivery:
        """Sends an event with example values. The response has the recorded attempt."""
        return await self._send(Delivery, "POST", "/samples", webhook_id, body={"event": event})

    async def trigger(self, event: EventName) -> TriggeredWebhook:
        """Sends a sample of an event to the open streams, such as that of `matte webhooks listen`."""
        path = f"{_webhook_root}/trigger"
        return await self._transport.request(TriggeredWebhook, "POST", path, body={"event": event})

    async def stats(self, webhook_id: str) -> WebhookStats:
        """Success rate, latency and volume by hour."""
        return await self._send(WebhookStats, "GET", "/stats", webhook_id)

    def deliveries(
        self,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        event: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        page: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[Delivery]:
        """Deliveries to an endpoint, newest first."""
        query = {"status": status, "event": event, "startDate": start_date, "endDate": end_date}
        paging = {"page": page, "pageSize": page_size, "cursor": cursor}
        read = self._transport.reader(f"{_webhook_root}/{{id}}/deliveries", {"id": webhook_id})
        return AsyncListing(read, {**query, **paging})

    async def delivery(self, delivery_id: str) -> WebhookDeliveryDetails:
        """A delivery with the headers of its attempts."""
        path = f"{_webhook_root}/deliveries/{{id}}"
        return await self._transport.request(WebhookDeliveryDetails, "GET", path, values={"id": delivery_id})

    async def event(self, event_id: str) -> WebhookEventDeliveries:
        """An event with all its deliveries, by the header `webhook-id` that a receiver got."""
        path = f"{_webhook_root}/events/{{id}}"
        return await self._transport.request(WebhookEventDeliveries, "GET", path, values={"id": event_id})

    async def redeliver(self, delivery_id: str) -> Delivery:
        """Sends a delivery again."""
        path = f"{_webhook_root}/deliveries/{{id}}/redeliver"
        return await self._transport.request(Delivery, "POST", path, values={"id": delivery_id})

    async def recover(
        self,
        webhook_id: str,
        *,
        since: str,
        until: str | None = None,
        event_types: Iterable[str] | None = None,
        statuses: Iterable[Literal["exhausted", "pending", "paused"]] | None = None,
        dry_run: bool = False,
    ) -> WebhookRecovery:
        """Sends again the deliveries that failed or were paused since a time, all or those that are selected."""
        events = None if event_types is None else list(event_types)
        chosen = None if statuses is None else list(statuses)
        body = {"since": since, "until": until, "eventTypes": events, "statuses": chosen, "dryRun": dry_run}
        return await self._send(WebhookRecovery, "POST", "/recover", webhook_id, body=without_none(body))

    def callback_deliveries(
        self,
        *,
        status: DeliveryStatus | None = None,
        event: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        page: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[Delivery]:
        """Deliveries to callback URLs, newest first."""
        query = {"status": status, "event": event, "startDate": start_date, "endDate": end_date}
        paging = {"page": page, "pageSize": page_size, "cursor": cursor}
        return AsyncListing(self._transport.reader(f"{_webhook_root}/callback-deliveries"), {**query, **paging})

    async def egress_addresses(self) -> WebhookEgressAddresses:
        """Addresses that webhooks come from."""
        path = f"{_webhook_root}/egress-addresses"
        return await self._transport.request(WebhookEgressAddresses, "GET", path)

    async def signing_secret(self) -> SigningSecret:
        """Secret that signs deliveries to a `callback_url`."""
        return await self._transport.request(SigningSecret, "GET", f"{_root}/signing-secret")

    async def _send(self, kind: type[T], method: str, action: str, webhook_id: str, *, body: Json | None = None) -> T:
        path = f"{_webhook_root}/{{id}}{action}"
        return await self._transport.request(kind, method, path, values={"id": webhook_id}, body=body)


class AsyncApiKeys:
    """API keys of the workspace, without the keys themselves."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncListing[ApiKey]:
        return AsyncListing(self._transport.reader(f"{_root}/api-keys"), {})


class AsyncUsage:
    """Usage statistics."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self) -> Usage:
        return await self._transport.request(Usage, "GET", f"{_root}/usage")


class AsyncModels:
    """Models that a task can name."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> AsyncListing[Model]:
        return AsyncListing(self._transport.reader(f"{_root}/models"), {})


class AsyncMatte:
    """Asynchronous client of one Matte service with one API key.

    `api_key` and `base_url` default to the environment variables MATTE_API_KEY and MATTE_BASE_URL. The base URL ends in
    the version path, such as `https://matte.example.com/api/v1`. `timeout` bounds the silence within a request in
    seconds, and `retries_max` the retries after its first attempt. Use it as a context manager, or call `aclose`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 60,
        retries_max: int = 5,
        user_agent: str | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        config = read_config(api_key, base_url, timeout=timeout, retries_max=retries_max, user_agent=user_agent)
        self._transport = Transport(config, AsyncIo(http_client))
        self.uploads = AsyncUploads(self._transport)
        self.tasks = AsyncTasks(self._transport)
        self.batches = AsyncBatches(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.api_keys = AsyncApiKeys(self._transport)
        self.usage = AsyncUsage(self._transport)
        self.models = AsyncModels(self._transport)

    async def remove_background(self, input: ImageInput, **options: Unpack[RemoveOptions]) -> AsyncCutout:
        """Uploads the image, creates a task, waits for it and downloads the result. See `RemoveOptions`."""
        check_names("remove_background", options, RemoveOptions)
        return AsyncCutout(await remove_background(self._transport, input, options))

    def remove_backgrounds(
        self,
        inputs: Iterable[ManyInput] | AsyncIterable[ManyInput],
        **options: Unpack[RemoveManyOptions],
    ) -> AsyncGenerator[ManyResult[AsyncCutout], None]:
        """Thousands of images: reads the inputs as it needs them, and yields results as they finish.

        Closing the generator cancels tasks that are still queued. See `RemoveManyOptions`.
        """
        check_names("remove_backgrounds", options, RemoveManyOptions)
        return remove_backgrounds(self._transport, inputs, options, AsyncCutout)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Sends any operation and returns the `data` of its response. The path is relative to the base URL."""
        send, key = self._transport.request, idempotency_key
        data: Any = await send(object, method, path, query=query, body=body, headers=headers, idempotency_key=key)
        return data

    async def aclose(self) -> None:
        await self._transport.io.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncMatte base_url={self._transport.config.base_url!r}>"
