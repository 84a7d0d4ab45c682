"""Upload by a grant: the bytes go to the store, without the API key."""

from __future__ import annotations

from collections.abc import Callable

from ._generated import UploadGrant
from ._input import Source
from ._io import WireRequest, WireResponse
from ._options import CancelSignal, Progress
from ._transport import Transport, is_retryable_status
from .errors import MatteError, make_error

_name_length_max = 255


async def upload(
    transport: Transport,
    source: Source,
    *,
    cancel: CancelSignal | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> str:
    """Uploads the image and returns its object key."""
    content = await transport.io.call(source.read)
    body = {
        "fileName": source.file_name[-_name_length_max:],
        "contentType": source.content_type,
        "fileSize": len(content),
    }

    def report(sent: int) -> None:
        if on_progress:
            on_progress(Progress("uploading", sent, len(content)))

    async def put() -> str:
        path = "/open/developer/uploads/presign"
        grant = await transport.request(UploadGrant, "POST", path, body=body, cancel=cancel)
        wire = WireRequest(
            method=grant["method"],
            url=grant["uploadUrl"],
            timeout=transport.config.timeout,
            headers={name.lower(): value for name, value in grant["headers"].items()},
            content=content,
            on_sent=report,
        )
        await transport.fetch(wire, _check, cancel=cancel)
        return grant["objectKey"]

    report(0)
    try:
        return await put()
    except MatteError as error:
        # The grant expired during the retries.
        if error.status != 403 or error.code != "TASK_STORAGE_UNAVAILABLE":
            raise
        return await put()


def _check(response: WireResponse) -> None:
    if not 200 <= response.status < 300:
        raise store_error("upload", response.status)


def store_error(what: str, status: int) -> MatteError:
    message = f"The store answered {status} to the {what}."
    return make_error("TASK_STORAGE_UNAVAILABLE", message, status=status, retryable=is_retryable_status(status))
