"""Requests to the service: credential, retries, errors.

Requests to the store and to hosts of inputs use `fetch`, which has no access to the API key.
"""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

import httpx

from ._config import Config
from ._io import Io, WireRequest, WireResponse
from ._options import CancelSignal, Json
from ._retry import RateWindow, read_rate_window, read_retry_after, retry_delay
from .errors import InputError, MatteError, make_error

T = TypeVar("T")

_log = logging.getLogger("matte")

#: POST requests that create or charge. The service remembers their Idempotency-Key for 24 hours.
_keyed = re.compile(r"/open/developer/(tasks|tasks/\{id\}/retry|tasks/[^/]+/retry|cut-outs|batch-tasks|webhooks)")
#: POST requests whose repetition does no harm.
_harmless = re.compile(r"/open/developer/uploads/presign")
_retryable_statuses = frozenset({408, 429, 500, 502, 503, 504})
#: Statuses with which a request surely had no effect.
_refusals = frozenset({429, 503})


class Transport:
    def __init__(self, config: Config, io: Io) -> None:
        self.config = config
        self.io = io
        #: Tasks that are waited for at the moment.
        self.polls: set[object] = set()
        #: Random number between 0 and 1 of the jitter; None draws one.
        self.draw: float | None = None
        self._seen: tuple[RateWindow, float] | None = None

    async def request(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        values: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        cancel: CancelSignal | None = None,
        timeout: float | None = None,
        on_throttled: Callable[[float], None] | None = None,
    ) -> T:
        """Sends an operation of the service and returns the `data` of its response.

        `kind` is for type checkers: the service is trusted to keep its contract. `content` is sent as it is, in place
        of `body`.
        """
        if not path.startswith("/"):
            raise InputError("CLIENT_INPUT", "The path must start with a slash, such as /open/developer/tasks.")
        url = self.config.base_url + _fill(path, values) + _query_text(query)
        key = idempotency_key or (str(uuid.uuid4()) if method == "POST" and _keyed.fullmatch(path) else None)
        wire = WireRequest(
            method=method,
            url=url,
            timeout=timeout or self.config.timeout,
            headers=self._headers(headers, key, has_body=body is not None),
            content=content if body is None else to_json(body).encode(),
        )

        async def attempt() -> T:
            response = await self.io.exchange(wire, cancel)
            window = read_rate_window(response.headers.get("ratelimit"))
            if window:
                self._seen = (window, self.io.now())
            return cast("T", self._read(response))

        repeatable = method != "POST" or key is not None or _harmless.fullmatch(path) is not None
        return await self.retrying(attempt, url, repeatable=repeatable, cancel=cancel, on_throttled=on_throttled)

    async def fetch(self, request: WireRequest, read: Callable[[WireResponse], T], *, cancel: CancelSignal | None) -> T:
        """Sends a request to another host, with retries and without the API key."""

        async def attempt() -> T:
            return read(await self.io.exchange(request, cancel))

        return await self.retrying(attempt, request.url, cancel=cancel)

    async def retrying(
        self,
        attempt: Callable[[], Awaitable[T]],
        url: str,
        *,
        repeatable: bool = True,
        cancel: CancelSignal | None = None,
        on_throttled: Callable[[float], None] | None = None,
    ) -> T:
        """Repeats attempts until one succeeds, its error is final, or there were `retries_max` retries.

        `repeatable` is false if an attempt without a response can have had an effect.
        """
        retry = 0
        while True:
            try:
                return await attempt()
            except (MatteError, httpx.HTTPError, httpx.InvalidURL) as cause:
                error = cause if isinstance(cause, MatteError) else to_connection_error(cause, url)
                if error.status == 429 and on_throttled:
                    on_throttled(error.retry_after or 0)
                may_repeat = error.retryable and (repeatable or error.status in _refusals)
                delay = retry_delay(retry, error.retry_after, self.draw) if may_repeat else None
                # The limit of open tasks ends with a task, and not after a delay; see _many.py.
                is_final = delay is None or retry >= self.config.retries_max or error.code == "TASK_CONCURRENT_LIMIT"
                if delay is None or is_final:
                    if error is cause:
                        raise
                    raise error from cause
                _log.debug("retry %d in %.2f s after %s", retry + 1, delay, error.code)
            await self.io.sleep(delay, cancel)
            retry += 1

    def rate_window(self) -> RateWindow | None:
        """The limit as the service last sent it."""
        if self._seen is None:
            return None
        window, seen_at = self._seen
        left = window.reset_seconds - (self.io.now() - seen_at)
        # A new window has begun: its limit is unknown.
        return RateWindow(window.remaining, left) if left > 0 else None

    def reader(self, path: str, values: Mapping[str, str] | None = None) -> Callable[[Json], Awaitable[Json]]:
        """Reads pages of a list."""

        async def read(query: Json) -> Json:
            data = await self.request(object, "GET", path, values=values, query=query)
            return to_object(data)

        return read

    def _headers(self, headers: Mapping[str, str] | None, key: str | None, *, has_body: bool) -> dict[str, str]:
        return {
            "accept": "application/json",
            "user-agent": self.config.user_agent,
            "x-api-key": self.config.api_key,
            **({"content-type": "application/json"} if has_body else {}),
            **({"idempotency-key": key} if key else {}),
            **{name.lower(): value for name, value in (headers or {}).items()},
        }

    def _read(self, response: WireResponse) -> Any:
        envelope = _parse(response.content)
        if 200 <= response.status < 300 and "data" in envelope:
            return envelope["data"]
        raise self._to_error(response, envelope)

    def _to_error(self, response: WireResponse, envelope: Json) -> MatteError:
        status = response.status
        fields = to_object(envelope.get("error"))
        code, message = fields.get("code"), str(fields.get("message", ""))
        if not isinstance(code, str):
            return self._to_foreign_error(response)
        if code == "NOT_FOUND" and not self.config.base_url.endswith("/api/v1"):
            message += " The base URL usually ends in /api/v1."
        details = to_object(fields.get("details"))
        issues = details.get("issues")
        if isinstance(issues, list):
            message = _with_issues(message, cast("list[object]", issues))
        retry_after = read_retry_after(response.headers.get("retry-after"), time.time())
        return make_error(
            code,
            message,
            status=status,
            details=details,
            request_id=envelope.get("request_id") or response.headers.get("x-request-id"),
            retryable=_is_retryable(status, code, retry_after),
            docs=f"{self.config.origin}/docs/errors/{quote(code, safe='')}",
            retry_after=retry_after,
        )

    def _to_foreign_error(self, response: WireResponse) -> MatteError:
        """A response of something else: a proxy, or another server at a wrong base URL."""
        status, origin = response.status, self.config.origin
        fields: Json = {
            "status": status,
            "request_id": response.headers.get("x-request-id"),
            "retry_after": read_retry_after(response.headers.get("retry-after"), time.time()),
        }
        if 300 <= status < 400:
            target = _without_query(response.headers.get("location", ""))
            message = f"{origin} redirects to {target or 'another address'}. Set the base URL to the final address."
            return make_error("CLIENT_CONFIG", message, **fields, details={"location": target})
        if status in _retryable_statuses:
            code = "RATE_LIMIT_EXCEEDED" if status == 429 else "CLIENT_CONNECTION"
            message = f"{origin} answered {status}, and not with a response of the service. Try again later."
            return make_error(code, message, **fields, retryable=True)
        message = f"{origin} answered {status}, and not with a response of the service. The base URL ends in /api/v1."
        return make_error("CLIENT_CONFIG", message, **fields)


def _with_issues(message: str, issues: list[object]) -> str:
    """Adds the issues, because most programs print the message alone."""
    texts: list[str] = []
    for issue in map(to_object, issues):
        names = str(issue.get("path", "")).split("/")[2:]
        texts.append(f"{'.'.join(names)} {issue.get('message', '')}".strip())
    return f"{message.replace('; see details.issues.', ':')} {'; '.join(texts)}." if texts else message


def is_retryable_status(status: int) -> bool:
    return status in _retryable_statuses


def _is_retryable(status: int, code: str, retry_after: float | None) -> bool:
    """A quota refills next month. A creation that is still in progress under its key is a CONFLICT with Retry-After."""
    if code == "DEVELOPER_API_QUOTA_EXCEEDED":
        return False
    if code == "TASK_CONCURRENT_LIMIT" or (code == "CONFLICT" and retry_after is not None):
        return True
    return status in _retryable_statuses


def to_connection_error(cause: Exception, url: str) -> MatteError:
    host = urlsplit(url).netloc
    if isinstance(cause, httpx.TimeoutException):
        return make_error("CLIENT_TIMEOUT", f"{host} did not answer in time.", retryable=True)
    if isinstance(cause, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return make_error("CLIENT_CONFIG", f"The request to {host} is not valid HTTP: {cause}")
    text = str(cause) or type(cause).__name__
    return make_error("CLIENT_CONNECTION", f"The connection to {host} failed: {text}.", retryable=True)


def without_none(fields: Mapping[str, Any]) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def to_json(body: object) -> str:
    """The text that JSON.stringify gives."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _fill(path: str, values: Mapping[str, str] | None) -> str:
    def replace(match: re.Match[str]) -> str:
        value = (values or {}).get(match[1], "")
        # An empty id would turn the path of one record into the path of the list.
        if not value:
            raise InputError("CLIENT_INPUT", f"The value of {match[1]} is missing.")
        return quote(value, safe="")

    return re.sub(r"\{(\w+)\}", replace, path)


def _query_text(query: Mapping[str, Any] | None) -> str:
    def to_text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs = [(name, to_text(value)) for name, value in (query or {}).items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""


def _parse(content: bytes) -> Json:
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return to_object(value)


def to_object(value: object) -> Json:
    """The value if it is a JSON object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def _without_query(url: str) -> str:
    return url.partition("?")[0]
