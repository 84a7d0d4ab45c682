"""Turns every kind of input into a source that can be read again, for a retry of the upload."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ._io import WireRequest, WireResponse, user_agent
from ._options import CancelSignal, ImageInput
from ._transport import Transport, is_retryable_status
from .errors import InputError, MatteError, make_error

#: Largest file of the service.
size_max_bytes = 20 * 1024 * 1024
_head_bytes = 16
_url = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """An image that is to be uploaded."""

    file_name: str
    content_type: str
    #: The content; it can be read more than once.
    read: Callable[[], bytes]
    #: Changes when the image does.
    fingerprint: Callable[[], str]


async def open_input(
    transport: Transport,
    input: ImageInput,
    *,
    file_name: str | None,
    content_type: str | None,
    cancel: CancelSignal | None,
) -> Source:
    """Raises `InputError` before any request if the input cannot be an image."""
    io = transport.io
    if isinstance(input, str) and _url.match(input):
        return await _fetch(transport, input, file_name, content_type, cancel)
    if isinstance(input, (str, os.PathLike)):
        path = os.fspath(input)
        return await io.call(lambda: _open_file(path, file_name, content_type))
    if isinstance(input, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(input), file_name or "image", content_type)
    if is_pillow_image(input):
        content = await io.call(lambda: _encode(input))
        return _from_bytes(content, file_name or "image.png", content_type)
    if hasattr(input, "read"):
        file: Any = input
        content = await io.call(lambda: _read_file_object(file))
        return _from_bytes(content, file_name or _name_of(getattr(file, "name", None)), content_type)
    raise input_error("The input must be a path, an http(s) URL, bytes, a binary file object or an image of Pillow.")


def input_error(message: str) -> InputError:
    return InputError("CLIENT_INPUT", message)


def sniff_type(head: bytes) -> str | None:
    """MIME type by the first 12 bytes; None if the service does not take the format."""
    if head.startswith(b"\x89PNG"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def _check(name: str, size_bytes: int, head: bytes, content_type: str | None) -> str:
    if size_bytes == 0:
        raise input_error(f"{name} is empty.")
    if size_bytes > size_max_bytes:
        raise input_error(f"{name} has {size_bytes} bytes. The largest file of the service has {size_max_bytes}.")
    known = content_type or sniff_type(head)
    if known is None:
        raise input_error(f"{name} is not a PNG, JPEG or WebP file.")
    return known


def _from_bytes(content: bytes, name: str, content_type: str | None) -> Source:
    kind = _check(name, len(content), content[:_head_bytes], content_type)
    return Source(name, kind, lambda: content, lambda: hashlib.sha256(content).hexdigest())


def _open_file(path: str, file_name: str | None, content_type: str | None) -> Source:
    try:
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
            head = file.read(_head_bytes)
    except OSError as error:
        raise input_error(f"The file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # A name with a null character.
        raise input_error(f"The file {path!r} cannot be read: {error}.") from error
    kind = _check(path, stat.st_size, head, content_type)
    return Source(
        file_name=file_name or _name_of(path),
        content_type=kind,
        read=lambda: _read_path(path),
        fingerprint=lambda: f"{stat.st_size}-{_to_ms(stat.st_mtime_ns)}",
    )


def _read_path(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return _read_file_object(file)
    except OSError as error:
        raise input_error(f"The file {path} cannot be read: {error.strerror}.") from error


def _to_ms(ns: int) -> str:
    """Milliseconds as JavaScript writes them, so that both clients can continue the same manifest."""
    seconds, rest = divmod(ns, 1_000_000_000)
    ms = seconds * 1_000 + rest / 1_000_000
    return str(int(ms)) if ms == int(ms) else repr(ms)


def _read_file_object(file: Any) -> bytes:
    """The rest of a file object. Raw files and pipes return less than was asked for."""
    chunks: list[bytes] = []
    size = 0
    while True:
        chunk = file.read(size_max_bytes + 1 - size)
        if isinstance(chunk, str):
            raise input_error("The file object yields text. Open it in binary mode.")
        if not chunk:
            return b"".join(chunks)
        chunks.append(bytes(chunk))
        size += len(chunk)
        if size > size_max_bytes:
            raise input_error(f"The input has more than {size_max_bytes} bytes, the largest file of the service.")


def _name_of(path: object) -> str:
    # A file object that was opened by its descriptor has a number as its name.
    name = os.path.basename(path) if isinstance(path, str) else ""
    return name or "image"


def is_pillow_image(input: object) -> bool:
    """Without an import of Pillow: an image of it exists only after the program imported it."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(input, module.Image)


def _encode(image: Any) -> bytes:
    buffer = io.BytesIO()
    # PNG has no CMYK, YCbCr, Lab and float pixels.
    writable = image if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16") else image.convert("RGB")
    writable.save(buffer, "PNG")
    return buffer.getvalue()


async def _fetch(
    transport: Transport, url: str, file_name: str | None, content_type: str | None, cancel: CancelSignal | None
) -> Source:
    def stop_if_large(loaded: int, total: int | None) -> None:
        if max(loaded, total or 0) > size_max_bytes:
            raise input_error(f"The image has more than {size_max_bytes} bytes, the largest file of the service.")

    request = WireRequest(
        method="GET",
        url=url,
        timeout=transport.config.timeout,
        headers={"user-agent": user_agent(None), "accept": "image/png, image/jpeg, image/webp, */*;q=0.1"},
        follow_redirects=True,
        on_received=stop_if_large,
    )
    content = await transport.fetch(request, _read_image, cancel=cancel)
    name = file_name or _name_of(unquote(urlsplit(url).path))
    return _from_bytes(content, name, content_type)


def _read_image(response: WireResponse) -> bytes:
    if 200 <= response.status < 300:
        return response.content
    raise not_fetched(response.status)


def not_fetched(status: int) -> MatteError:
    message = f"The image cannot be fetched: its server answered {status}."
    return make_error("CLIENT_INPUT", message, status=status, retryable=is_retryable_status(status))
