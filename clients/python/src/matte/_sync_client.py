"""The synchronous client: each method runs that of the asynchronous one over blocking input and output.

The logic exists once, as coroutines that only await the operations of `Io`. Those of `SyncIo` block and never suspend,
so the first step of such a coroutine is its last. No event loop is involved, and the client works in any thread, also
in one that runs a loop. A generated copy would need a step of the build, and a tree that is not what was reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import httpx

from . import webhooks as webhook_module
from ._async_client import (
    AsyncApiKeys,
    AsyncBatches,
    AsyncListing,
    AsyncModels,
    AsyncTasks,
    AsyncUploads,
    AsyncUsage,
    AsyncWebhooks,
)
from ._config import read_config
from ._cutout import Cutout
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
from ._many import remove_backgrounds
from ._options import (
    CancelSignal,
    ImageInput,
    ManyInput,
    ManyResult,
    Page,
    Progress,
    RemoveManyOptions,
    RemoveOptions,
)
from ._remove import check_names, download_result, remove_background
from ._sync_io import SyncIo, iterate, run
from ._tasks import get_task
from ._transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")


class Listing(Generic[T]):
    """A list of the service. Iteration reads all records, page by page, by cursor."""

    def __init__(self, listing: AsyncListing[T]) -> None:
        self._listing = listing

    def page(self) -> Page[T]:
        """One page, as the query asks."""
        return run(self._listing.page())

    def all(self) -> list[T]:
        """All records in one list."""
        return run(self._listing.all())

    def __iter__(self) -> Iterator[T]:
        return iterate(self._listing.__aiter__())


class Uploads:
    """Upload grants, and uploads by them."""

    def __init__(self, uploads: AsyncUploads) -> None:
        self._uploads = uploads

    def create(self, *, file_name: str, content_type: str, file_size: int | None = None) -> UploadGrant:
        return run(self._uploads.create(file_name=file_name, content_type=content_type, file_size=file_size))

    def fetch(self, url: str) -> FetchedUpload:
        """Lets the service download an image by its URL, if the installation allows it."""
        return run(self._uploads.fetch(url))

    def put(
        self,
        input: ImageInput,
        *,
        file_name: str | None = None,
        content_type: str | None = None,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> str:
        """Uploads an image and returns its object key, the `image_url` of `tasks.create` and `batches.create`."""
        put = self._uploads.put
        return run(put(input, file_name=file_name, content_type=content_type, cancel=cancel, on_progress=on_progress))


class Tasks:
    """Tasks of the workspace."""

    def __init__(self, tasks: AsyncTasks, transport: Transport) -> None:
        self._tasks = tasks
        self._transport = transport

    def create(
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
        return run(
            self._tasks.create(
                image_url=image_url,
                model=model,
                callback_url=callback_url,
                output=output,
                retention=retention,
                wait=wait,
                idempotency_key=idempotency_key,
            )
        )

    def cut_out(
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
        return run(
            self._tasks.cut_out(
                input,
                model=model,
                callback_url=callback_url,
                output=output,
                retention=retention,
                wait=wait,
                idempotency_key=idempotency_key,
            )
        )

    def get(self, task_id: str) -> Task:
        return run(self._tasks.get(task_id))

    def list(
        self,
        *,
        status: TaskStatus | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        page: int | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
    ) -> Listing[Task]:
        """Tasks, newest first."""
        return Listing(
            self._tasks.list(
                status=status,
                start_date=start_date,
                end_date=end_date,
                page=page,
                page_size=page_size,
                cursor=cursor,
            )
        )

    def cancel(self, task_id: str) -> Task:
        """Cancels a task that is still queued."""
        return run(self._tasks.cancel(task_id))

    def erase_images(self, task_id: str) -> Task:
        """Erases photo, result and previews of an ended task within a minute; links to them end.

        The task stays in the history without the file name.
        """
        return run(self._tasks.erase_images(task_id))

    def retry(self, task_id: str, *, idempotency_key: str | None = None) -> Task:
        """Queues a failed task again. It is charged like a new one."""
        return run(self._tasks.retry(task_id, idempotency_key=idempotency_key))

    def wait(
        self,
        task_id: str,
        *,
        wait: float = 600,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Task:
        """Returns the succeeded task. Raises `TaskFailedError` with the reason, or `TimeoutError` after `wait`."""
        return run(self._tasks.wait(task_id, wait=wait, cancel=cancel, on_progress=on_progress))

    def download(
        self,
        task: str | Task,
        *,
        cancel: CancelSignal | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Cutout:
        """Downloads the result of a succeeded task."""
        known = run(get_task(self._transport, task)) if isinstance(task, str) else task
        return Cutout(run(download_result(self._transport, known, cancel=cancel, on_progress=on_progress)))


class Batches:
    """Batches of tasks that are created together."""

    def __init__(self, batches: AsyncBatches) -> None:
        self._batches = batches

    def create(
        self,
        *,
        image_urls: Iterable[str],
        model: str | None = None,
        callback_url: str | None = None,
        output: Output | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Creates a task for each uploaded image, all or none."""
        return run(
            self._batches.create(
                image_urls=image_urls,
                model=model,
                callback_url=callback_url,
                output=output,
                idempotency_key=idempotency_key,
            )
        )

    def get(self, batch_id: str) -> Batch:
        return run(self._batches.get(batch_id))

    def list(
        self, *, page: int | None = None, page_size: int | None = None, cursor: str | None = None
    ) -> Listing[BatchSummary]:
        """Batches without their tasks, newest first."""
        return Listing(self._batches.list(page=page, page_size=page_size, cursor=cursor))

    def cancel(self, batch_id: str) -> Batch:
        """Cancels the queued tasks of a batch."""
        return run(self._batches.cancel(batch_id))


class Webhooks:
    """Webhook endpoints and deliveries."""

    verify = staticmethod(webhook_module.verify)

    def __init__(self, webhooks: AsyncWebhooks) -> None:
        self._webhooks = webhooks

    def create(
        self,
        *,
        target_url: str,
        event_types: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> NewWebhookEndpoint:
        """Creates an endpoint. Only this response has its `signingSecret`. `headers` go with each delivery."""
        return run(
            self._webhooks.create(
                target_url=target_url,
                event_types=event_types,
                headers=headers,
                description=description,
                idempotency_key=idempotency_key,
            )
        )

    def list(self) -> Listing[WebhookEndpoint]:
        return Listing(self._webhooks.list())

    def get(self, webhook_id: str) -> WebhookEndpoint:
        return run(self._webhooks.get(webhook_id))

    def update(
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
        return run(
            self._webhooks.update(
                webhook_id,
                target_url=target_url,
                event_types=event_types,
                headers=headers,
                description=description,
                status=status,
            )
        )

    def delete(self, webhook_id: str) -> Deleted:
        return run(self._webhooks.delete(webhook_id))

    def rotate_secret(self, webhook_id: str, *, overlap_seconds: int | None = None) -> RotatedWebhookEndpoint:
        """Returns the new secret. The previous one stays valid for the overlap, a day by default."""
        return run(self._webhooks.rotate_secret(webhook_id, overlap_seconds=overlap_seconds))

    def test(self, webhook_id: str) -> Delivery:
        """Sends `test.webhook`. The response has the recorded attempt."""
        return run(self._webhooks.test(webhook_id))

    def sample(self, webhook_id: str, event: EventName) -> Delivery:
        """Sends an event with example values. The response has the recorded attempt."""
        return run(self._webhooks.sample(webhook_id, event))

    def trigger(self, event: EventName) -> TriggeredWebhook:
        """Sends a sample of an event to the open streams, such as that of `matte webhooks listen`."""
        return run(self._webhooks.trigger(event))

    def stats(self, webhook_id: str) -> WebhookStats:
        """Success rate, latency and volume by hour."""
        return run(self._webhooks.stats(webhook_id))

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
    ) -> Listing[Delivery]:
        """Deliveries to an endpoint, newest first."""
        return Listing(
            self._webhooks.deliveries(
                webhook_id,
                status=status,
                event=event,
                start_date=start_date,
                end_date=end_date,
                page=page,
                page_size=page_size,
                cursor=cursor,
            )
        )

    def delivery(self, delivery_id: str) -> WebhookDeliveryDetails:
        """A delivery with the headers of its attempts."""
        return run(self._webhooks.delivery(delivery_id))

    def event(self, event_id: str) -> WebhookEventDeliveries:
        """An event with all its deliveries, by the header `webhook-id` that a receiver got."""
        return run(self._webhooks.event(event_id))

    def redeliver(self, delivery_id: str) -> Delivery:
        """Sends a delivery again."""
        return run(self._webhooks.redeliver(delivery_id))

    def recover(
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
        return run(
            self._webhooks.recover(
                webhook_id,
                since=since,
                until=until,
                event_types=event_types,
                statuses=statuses,
                dry_run=dry_run,
            )
        )

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
    ) -> Listing[Delivery]:
        """Deliveries to callback URLs, newest first."""
        return Listing(
            self._webhooks.callback_deliveries(
                status=status,
                event=event,
                start_date=start_date,
                end_date=end_date,
                page=page,
                page_size=page_size,
                cursor=cursor,
            )
        )

    def egress_addresses(self) -> WebhookEgressAddresses:
        """Addresses that webhooks come from."""
        return run(self._webhooks.egress_addresses())

    def signing_secret(self) -> SigningSecret:
        """Secret that signs deliveries to a `callback_url`."""
        return run(self._webhooks.signing_secret())


class ApiKeys:
    """API keys of the workspace, without the keys themselves."""

    def __init__(self, api_keys: AsyncApiKeys) -> None:
        self._api_keys = api_keys

    def list(self) -> Listing[ApiKey]:
        return Listing(self._api_keys.list())


class UsageOperations:
    """Usage statistics."""

    def __init__(self, usage: AsyncUsage) -> None:
        self._usage = usage

    def get(self) -> Usage:
        return run(self._usage.get())


class Models:
    """Models that a task can name."""

    def __init__(self, models: AsyncModels) -> None:
        self._models = models

    def list(self) -> Listing[Model]:
        return Listing(self._models.list())


class Matte:
    """Client of one Matte service with one API key. It can be shared by threads.

    `api_key` and `base_url` default to the environment variables MATTE_API_KEY and MATTE_BASE_URL. The base URL ends in
    the version path, such as `https://matte.example.com/api/v1`. `timeout` bounds the silence within a request in
    seconds, and `retries_max` the retries after its first attempt. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 60,
        retries_max: int = 5,
        user_agent: str | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        config = read_config(api_key, base_url, timeout=timeout, retries_max=retries_max, user_agent=user_agent)
        self._transport = Transport(config, SyncIo(http_client))
        self.uploads = Uploads(AsyncUploads(self._transport))
        self.tasks = Tasks(AsyncTasks(self._transport), self._transport)
        self.batches = Batches(AsyncBatches(self._transport))
        self.webhooks = Webhooks(AsyncWebhooks(self._transport))
        self.api_keys = ApiKeys(AsyncApiKeys(self._transport))
        self.usage = UsageOperations(AsyncUsage(self._transport))
        self.models = Models(AsyncModels(self._transport))

    def remove_background(self, input: ImageInput, **options: Unpack[RemoveOptions]) -> Cutout:
        """Uploads the image, creates a task, waits for it and downloads the result. See `RemoveOptions`."""
        check_names("remove_background", options, RemoveOptions)
        return Cutout(run(remove_background(self._transport, input, options)))

    def remove_backgrounds(
        self, inputs: Iterable[ManyInput], **options: Unpack[RemoveManyOptions]
    ) -> Generator[ManyResult[Cutout], None, None]:
        """Thousands of images: reads the inputs as it needs them, and yields results as they finish.

        Closing the generator cancels tasks that are still queued. See `RemoveManyOptions`.
        """
        check_names("remove_backgrounds", options, RemoveManyOptions)
        return iterate(remove_backgrounds(self._transport, inputs, options, Cutout))

    def request(
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
        data: Any = run(send(object, method, path, query=query, body=body, headers=headers, idempotency_key=key))
        return data

    def close(self) -> None:
        run(self._transport.io.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Matte base_url={self._transport.config.base_url!r}>"
