"""Input and output that the logic needs. SyncIo blocks, AsyncIo awaits; everything else exists once."""

from __future__ import annotations

import functools
import platform
import ssl
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx

from ._options import CancelSignal
from ._version import version
from .errors import CanceledError

T = TypeVar("T")

#: How often a signal of the caller is looked at while a request is in progress.
cancel_poll_seconds = 0.05
_chunk_bytes = 64 * 1024
#: Bounds open sockets of one client; `remove_backgrounds` needs one per image.
_limits = httpx.Limits(max_connections=100, max_keepalive_connections=64)


@dataclass(frozen=True)
class WireRequest:
    """One HTTP request, complete but for the connection."""

    method: str
    url: str
    timeout: float
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None
    follow_redirects: bool = False
    #: Bytes of the content that were handed to the connection.
    on_sent: Callable[[int], None] | None = None
    #: Bytes of the body that have arrived, and Content-Length.
    on_received: Callable[[int, int | None], None] | None = None


@dataclass(frozen=True)
class WireResponse:
    status: int
    headers: httpx.Headers
    content: bytes


class Workers(Protocol):
    """Coroutines that run at the same time, and the events that they post."""

    def start(
        self, work: Callable[[CancelSignal | None], Coroutine[Any, Any, None]], *, sees_signal: bool = True
    ) -> None:
        """`sees_signal` is false for work that only a cancellation from outside ends."""
        ...

    def post(self, event: object) -> None:
        """Called from any worker."""
        ...

    async def next_event(self, seconds: float | None, cancel: CancelSignal | None) -> object | None:
        """The next event; None after the time."""
        ...

    async def stop(self) -> None:
        """Cancels all workers and waits for their end."""
        ...


class Io(Protocol):
    async def exchange(self, request: WireRequest, cancel: CancelSignal | None) -> WireResponse:
        """Sends a request and reads the whole response."""
        ...

    async def sleep(self, seconds: float, cancel: CancelSignal | None) -> None: ...

    async def call(self, blocking: Callable[[], T]) -> T:
        """Runs a function that reads or writes files."""
        ...

    async def limited(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Ends the work after the time, where that is possible."""
        ...

    def workers(self, cancel: CancelSignal | None) -> Workers: ...

    def now(self) -> float:
        """Seconds of a clock that only moves forward."""
        ...

    async def aclose(self) -> None: ...


class _QuietUrl(httpx.URL):
    """A URL that hides its query from logs: httpx logs each request, and the query of a presigned URL is its secret."""

    def __str__(self) -> str:
        return super().__str__().partition("?")[0]


def default_options() -> dict[str, Any]:
    """Options of a client of httpx."""
    return {"limits": _limits, "headers": {"user-agent": user_agent(None)}, "verify": _tls_context()}


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Certificates of the machine, read once: that takes 100 ms, which a client for a single call would notice."""
    return httpx.create_ssl_context()


def user_agent(name: str | None) -> str:
    own = f"matte-client/{version} python/{platform.python_version()}"
    return f"{name} {own}" if name else own


def hide_query(request: httpx.Request) -> None:
    request.url = _QuietUrl(request.url)


def chunks_of(request: WireRequest, cancel: CancelSignal | None) -> Iterator[bytes]:
    """Content in chunks. A canceled upload ends with an error instead of its rest."""
    content = memoryview(request.content or b"")
    for start in range(0, len(content), _chunk_bytes):
        raise_if_canceled(cancel)
        chunk = bytes(content[start : start + _chunk_bytes])
        yield chunk
        if request.on_sent:
            request.on_sent(start + len(chunk))


def wire_headers(request: WireRequest) -> dict[str, str]:
    # A compressed body has another length, and images do not compress.
    headers = {"accept-encoding": "identity", **request.headers}
    if request.content is None:
        return headers
    return {**headers, "content-length": str(len(request.content))}


class Body:
    """Collects the body of a response."""

    def __init__(self, request: WireRequest, response: httpx.Response, cancel: CancelSignal | None) -> None:
        self._request = request
        self._response = response
        self._cancel = cancel
        self._chunks: list[bytes] = []
        self._size = 0
        length = response.headers.get("content-length", "")
        is_plain = "content-encoding" not in response.headers
        self._total = int(length) if length.isdecimal() and is_plain and request.method != "HEAD" else None
        self._report()

    def add(self, chunk: bytes) -> None:
        raise_if_canceled(self._cancel)
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._report()

    def end(self) -> WireResponse:
        if self._total is not None and self._size != self._total:
            raise httpx.RemoteProtocolError(f"the body has {self._size} of {self._total} bytes")
        return WireResponse(self._response.status_code, self._response.headers, b"".join(self._chunks))

    def _report(self) -> None:
        if self._request.on_received:
            self._request.on_received(self._size, self._total)


def raise_if_canceled(cancel: CancelSignal | None) -> None:
    if cancel is not None and cancel.is_set():
        raise canceled()


def canceled() -> CanceledError:
    return CanceledError("CLIENT_ABORTED", "The call was canceled.")
