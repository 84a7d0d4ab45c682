"""A service and an object store on two real ports, and clients of both kinds under one interface."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from matte import AsyncMatte, Matte

PNG = b"\x89PNG\r\n\x1a\n" + b"input " * 50_000
RESULT = b"\x89PNG\r\n\x1a\n" + b"result" * 20_000
API_KEY = "service_live_secretsecretsecret"
ROOT = "/api/v1/open/developer"

Headers = dict[str, str]
#: Status, headers and body of a response, or a function that answers by itself.
Answer = "tuple[int, Headers, bytes] | Callable[[Exchange], None]"


@dataclass
class Exchange:
    """One request as it arrived, and ways to answer it."""

    handler: BaseHTTPRequestHandler
    method: str
    path: str
    query: dict[str, str]
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def send(self, status: int, headers: Headers, body: bytes) -> None:
        self.handler.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def cut(self) -> None:
        """Ends the connection without the rest."""
        self.handler.close_connection = True
        self.handler.wfile.flush()
        self.handler.connection.shutdown(socket.SHUT_RDWR)


@dataclass
class FakeServer:
    """Records requests. `faults` answer in place of `handle`, once each."""

    requests: list[Exchange] = field(default_factory=list)
    faults: dict[str, deque[Any]] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)
    origin: str = ""

    def fail(self, operation: str, *answers: Any) -> None:
        self.faults.setdefault(operation, deque()).extend(answers)

    def sent(self, operation: str) -> list[Exchange]:
        with self.lock:
            return [each for each in self.requests if self.operation_of(each) == operation]

    def operation_of(self, exchange: Exchange) -> str:
        return f"{exchange.method} {exchange.path}"

    def handle(self, exchange: Exchange) -> None:
        raise NotImplementedError

    def answer(self, exchange: Exchange) -> None:
        with self.lock:
            self.requests.append(exchange)
            waiting = self.faults.get(self.operation_of(exchange))
            fault = waiting.popleft() if waiting else None
        if fault is None:
            self.handle(exchange)
        elif callable(fault):
            fault(exchange)
        else:
            exchange.send(*fault)


@contextmanager
def serve(server: FakeServer) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            early = getattr(server, "before_body", None)
            if early is not None and early(self, parts.path):
                return
            body = self.rfile.read(int(headers.get("content-length", "0")))
            server.answer(Exchange(self, self.command, parts.path, query, headers, body))

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """A client that leaves is part of some tests."""

    listening = Server(("127.0.0.1", 0), Handler)
    server.origin = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=lambda: listening.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


class Store(FakeServer):
    """An object store: PUT of inputs, GET of results and of other hosts' images."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, bytes] = {}
        self.result = RESULT
        #: Number of uploads that are cut after their first bytes.
        self.cut_uploads = 0

    def operation_of(self, exchange: Exchange) -> str:
        return exchange.method

    def before_body(self, handler: BaseHTTPRequestHandler, path: str) -> bool:
        with self.lock:
            if handler.command != "PUT" or self.cut_uploads == 0:
                return False
            self.cut_uploads -= 1
        handler.rfile.read(1)
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    def handle(self, exchange: Exchange) -> None:
        if exchange.method == "PUT":
            self.objects[exchange.path.lstrip("/")] = exchange.body
            exchange.send(200, {}, b"")
        elif exchange.path.startswith("/images/"):
            exchange.send(200, {"content-type": "image/png"}, PNG)
        else:
            exchange.send(200, {"content-type": "image/png"}, self.result)


class Service(FakeServer):
    """The Developer API as far as the client needs it. A creation with a known key answers the same task."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.tasks: dict[str, dict[str, Any]] = {}
        self.bodies: dict[str, Any] = {}
        #: Task by idempotency key.
        self.by_key: dict[str, str] = {}
        #: Status of a new task, and after how many reads it becomes `final`.
        self.first = "succeeded"
        self.final = "succeeded"
        self.reads_left = 1
        self.failure: dict[str, Any] | None = None
        #: Refuses creations while so many tasks are open; None: no limit.
        self.open_max: int | None = None
        self.open_peak = 0

    def operation_of(self, exchange: Exchange) -> str:
        path = exchange.path.removeprefix(ROOT)
        parts = ["{id}" if len(part) == 36 else part for part in path.split("/")]
        return f"{exchange.method} {'/'.join(parts)}"

    def data(self, exchange: Exchange, data: Any, status: int = 200, headers: Headers | None = None) -> None:
        body = json.dumps({"request_id": "r-1", "data": data}).encode()
        exchange.send(status, {"content-type": "application/json", **(headers or {})}, body)

    def handle(self, exchange: Exchange) -> None:
        operation = self.operation_of(exchange)
        if exchange.headers.get("x-api-key") != API_KEY:
            return exchange.send(*refusal(401, "API_KEY_INVALID"))
        routes: dict[str, Callable[[Exchange], None]] = {
            "POST /uploads/presign": self.presign,
            "POST /tasks": self.create,
            "GET /tasks/{id}": self.read,
            "DELETE /tasks/{id}": self.cancel,
            "GET /tasks": self.list_tasks,
        }
        return routes.get(operation, self.echo)(exchange)

    def echo(self, exchange: Exchange) -> None:
        page = {"items": [], "page": 1, "pageSize": 20, "total": 0, "totalPages": 0, "nextCursor": None}
        self.data(exchange, {**page, "id": "x"})

    def presign(self, exchange: Exchange) -> None:
        key = f"private-uploads/2026/11/{uuid.uuid4()}-{exchange.json['fileName']}"
        self.data(
            exchange,
            {
                "uploadUrl": f"{self.store.origin}/{key}?X-Amz-Signature=s3cr3t",
                "objectKey": key,
                "method": "PUT",
                "headers": {"Content-Type": exchange.json["contentType"]},
                "expiresAt": "2026-11-21T09:45:00.000Z",
                "maxFileSize": 20 * 1024 * 1024,
            },
        )

    def create(self, exchange: Exchange) -> None:
        key = exchange.headers["idempotency-key"]
        with self.lock:
            if key in self.by_key:
                task = self.tasks[self.by_key[key]]
                return self.data(exchange, task, 201, {"idempotent-replayed": "true"})
            open_count = sum(each["status"] in ("queued", "processing") for each in self.tasks.values())
            if self.open_max is not None and open_count >= self.open_max:
                details = {"limit": self.open_max}
                return exchange.send(*refusal(400, "TASK_CONCURRENT_LIMIT", details=details))
            self.open_peak = max(self.open_peak, open_count + 1)
            task = self.new_task(exchange)
            self.by_key[key] = task["id"]
        return self.data(exchange, task, 201)

    def new_task(self, exchange: Exchange) -> dict[str, Any]:
        task_id = str(uuid.uuid4())
        self.bodies[task_id] = exchange.json
        self.tasks[task_id] = {
            "id": task_id,
            "status": "queued",
            "modelVersion": "service-v2",
            "sourceUrl": exchange.json["imageUrl"],
            "resultUrl": None,
            "completedAt": None,
            "failure": None,
            "resultFormat": "png",
            "reads": self.reads_left,
        }
        self.move(task_id, self.first)
        return self.tasks[task_id]

    def move(self, task_id: str, status: str) -> None:
        task = self.tasks[task_id]
        task["status"] = status
        if status == "succeeded":
            task["resultUrl"] = f"{self.store.origin}/results/{task_id}?X-Amz-Signature=s3cr3t"
        if status == "failed":
            task["failure"] = self.failure

    def read(self, exchange: Exchange) -> None:
        task_id = exchange.path.rsplit("/", 1)[1]
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None:
                return exchange.send(*refusal(404, "DEVELOPER_TASK_NOT_FOUND"))
            if task["status"] in ("queued", "processing"):
                task["reads"] -= 1
                if task["reads"] <= 0:
                    self.move(task_id, self.final)
        return self.data(exchange, task)

    def cancel(self, exchange: Exchange) -> None:
        task = self.tasks[exchange.path.rsplit("/", 1)[1]]
        with self.lock:
            if task["status"] != "queued":
                return exchange.send(*refusal(409, "TASK_CANNOT_CANCEL"))
            task["status"] = "canceled"
        return self.data(exchange, task)

    def list_tasks(self, exchange: Exchange) -> None:
        """250 tasks; the cursor is the number of the first."""
        size, start = int(exchange.query.get("pageSize", "20")), int(exchange.query.get("cursor", "0"))
        items = [{"id": str(number)} for number in range(start, min(start + size, 250))]
        after = start + size
        cursor = str(after) if after < 250 else None
        page = {"page": 1, "pageSize": size, "total": 250, "totalPages": -(-250 // size), "nextCursor": cursor}
        self.data(exchange, {"items": items, **page})


def refusal(
    status: int, code: str, *, headers: Headers | None = None, details: dict[str, Any] | None = None
) -> tuple[int, Headers, bytes]:
    error = {"code": code, "message": f"This is {code}.", "details": details or {}}
    return status, headers or {}, json.dumps({"request_id": "r-2", "error": error}).encode()


def cut(exchange: Exchange) -> None:
    """No response at all."""
    exchange.cut()


def cut_in_body(exchange: Exchange) -> None:
    """A response that ends before its Content-Length."""
    exchange.handler.send_response(200)
    exchange.handler.send_header("content-length", "100000")
    exchange.handler.end_headers()
    exchange.handler.wfile.write(b"half")
    exchange.cut()


class Sleeps:
    """Replaces the sleeping of a client: records the seconds and moves a clock by them."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.time = 1_000.0

    async def sleep(self, seconds: float, cancel: Any) -> None:
        if cancel is not None and cancel.is_set():
            from matte import CanceledError

            raise CanceledError("CLIENT_ABORTED", "The call was canceled.")
        self.seconds.append(seconds)
        self.time += seconds

    def now(self) -> float:
        return self.time


class Caller:
    """Runs a call on a new client of one kind, and returns what it returns."""

    def __init__(self, kind: str, service: Service) -> None:
        self.kind = kind
        self.service = service
        self.sleeps = Sleeps()

    def __call__(self, call: Callable[[Any], Any], *, own_clock: bool = True, **options: Any) -> Any:
        options = {"api_key": API_KEY, "base_url": f"{self.service.origin}/api/v1", **options}
        if self.kind == "sync":
            with Matte(**options) as client:
                self.quiet(client, own_clock)
                return resolve(call(client))
        return asyncio.run(self.call_async(call, own_clock, options))

    async def call_async(self, call: Callable[[Any], Any], own_clock: bool, options: dict[str, Any]) -> Any:
        async with AsyncMatte(**options) as client:
            self.quiet(client, own_clock)
            return await resolve_async(call(client))

    def quiet(self, client: Any, own_clock: bool) -> None:
        transport = client._transport
        transport.draw = 0.0
        transport.io.sleep = self.sleeps.sleep
        if own_clock:
            transport.io.now = self.sleeps.now

    def content(self, cutout: Any) -> bytes:
        return asyncio.run(cutout.bytes()) if self.kind == "async" else cutout.bytes()


def resolve(value: Any) -> Any:
    return list(value) if hasattr(value, "__iter__") and not isinstance(value, (dict, str, bytes, list)) else value


async def resolve_async(value: Any) -> Any:
    if inspect.isawaitable(value):
        return await value
    return [each async for each in value] if hasattr(value, "__aiter__") else value


async def slowly(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item
