from __future__ import annotations

import asyncio
import io
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import (
    API_KEY,
    PNG,
    RESULT,
    Caller,
    Exchange,
    Service,
    Store,
    cut,
    cut_in_body,
    refusal,
)

import matte
from matte import AsyncMatte, CanceledError, InputError, MatteError, Progress, Shadow, TaskFailedError
from matte._remove import build_request


def test_one_call_uploads_creates_waits_and_downloads(call: Caller, service: Service, tmp_path: Path) -> None:
    path = tmp_path / "chair.png"
    path.write_bytes(PNG)
    shadow: Shadow = {"kind": "drop", "opacity": 60, "grow": True}
    cutout = call(lambda client: client.remove_background(path, format="webp", crop_margin="5%", shadow=shadow, model="service-v2"))
    assert call.content(cutout) == RESULT
    assert (cutout.content_type, cutout.size_bytes) == ("image/png", len(RESULT))
    assert cutout.task["status"] == "succeeded"
    body = service.bodies[cutout.task_id]
    assert body["output"] == {"format": "webp", "cropMargin": "5%", "shadow": shadow}
    assert body["modelVersion"] == "service-v2"
    assert body["imageUrl"].endswith("-chair.png")
    assert list(service.store.objects.values()) == [PNG]
    creation = service.sent("POST /tasks")[0]
    assert creation.headers["prefer"] == "wait=20"
    assert len(creation.headers["idempotency-key"]) == 36


def test_a_task_that_is_not_done_is_polled_with_growing_delays(call: Caller, service: Service) -> None:
    service.first, service.reads_left = "queued", 5
    cutout = call(lambda client: client.remove_background(PNG))
    assert call.content(cutout) == RESULT
    assert call.sleeps.seconds == [0.25, 0.375, 0.5625, 0.84375, 1.265625]


def test_polls_respect_the_rate_limit(call: Caller, service: Service) -> None:
    service.first, service.reads_left = "queued", 1
    answers = service.data
    headers = {"ratelimit": '"default";r=6;t=60'}
    service.data = lambda exchange, data, status=200, _=None: answers(exchange, data, status, headers)  # type: ignore[assignment]
    call(lambda client: client.remove_background(PNG))
    assert call.sleeps.seconds == [10.0]


def test_progress_has_bytes_and_states_in_order(call: Caller, service: Service) -> None:
    service.first, service.reads_left = "queued", 2
    seen: list[Progress] = []
    cutout = call(lambda client: client.remove_background(PNG, on_progress=seen.append))
    states = list(dict.fromkeys(each.state for each in seen))
    assert states == ["uploading", "queued", "downloading", "done"]
    uploads = [each.loaded_bytes for each in seen if each.state == "uploading"]
    assert (uploads[0], uploads[-1], len(uploads) > 3) == (0, len(PNG), True)
    assert uploads == sorted(uploads)
    assert seen[-1] == Progress("done", len(RESULT), len(RESULT), cutout.task_id)


def test_the_api_key_goes_to_the_service_alone(call: Caller, service: Service, store: Store) -> None:
    call(lambda client: client.remove_background(f"{store.origin}/images/a.png"))
    assert len(store.requests) == 3
    for exchange in store.requests:
        assert API_KEY not in str(exchange.headers)
    assert all(each.headers["x-api-key"] == API_KEY for each in service.requests)


def test_no_log_line_has_the_key_or_the_query_of_a_signed_url(
    call: Caller, service: Service, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    service.fail("POST /tasks", refusal(503, "TASK_MAINTENANCE"))
    store.fail("GET", (302, {"location": "/images/a.png?X-Amz-Signature=s3cr3t"}, b""))
    with caplog.at_level(logging.INFO), caplog.at_level(logging.DEBUG, logger="matte"):
        call(lambda client: client.remove_background(PNG))
    assert "HTTP Request: PUT" in caplog.text
    assert "retry 1" in caplog.text
    assert store.requests[-1].query == {"X-Amz-Signature": "s3cr3t"}
    assert API_KEY not in caplog.text
    assert "s3cr3t" not in caplog.text


def test_a_client_does_not_show_its_key(call: Caller) -> None:
    shown = call(lambda client: repr(client) + repr(client._transport.config) + repr(vars(client)))
    assert API_KEY not in shown


class Upper(io.RawIOBase):
    """A raw file object that returns one byte less than asked for."""

    def __init__(self, content: bytes) -> None:
        self.rest = content

    def read(self, size: int = -1) -> bytes:
        size = min(size, 100_000)
        chunk, self.rest = self.rest[:size], self.rest[size:]
        return chunk


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda path: str(path), "-a.png"),
        (lambda path: path, "-a.png"),
        (lambda path: PNG, "-image"),
        (lambda path: bytearray(PNG), "-image"),
        (lambda path: memoryview(PNG), "-image"),
        (lambda path: io.BytesIO(PNG), "-image"),
        (lambda path: Upper(PNG), "-image"),
    ],
)
def test_inputs_of_each_kind_are_uploaded_whole(
    call: Caller, service: Service, store: Store, tmp_path: Path, build: Callable[[Path], Any], name: str
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    call(lambda client: client.remove_background(build(path)))
    assert [(key[-len(name) :], content) for key, content in store.objects.items()] == [(name, PNG)]


def test_an_open_file_keeps_its_name_unless_another_is_given(call: Caller, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "b.png"
    path.write_bytes(PNG)
    with path.open("rb") as file:
        call(lambda client: client.remove_background(file))
    call(lambda client: client.remove_background(PNG, file_name="c.png"))
    assert [key.rsplit("-", 1)[1] for key in store.objects] == ["b.png", "c.png"]


def test_a_url_is_fetched_by_the_client_and_redirects_are_followed(call: Caller, store: Store) -> None:
    store.fail("GET", (302, {"location": f"{store.origin}/images/b.png"}, b""))
    call(lambda client: client.remove_background(f"{store.origin}/images/a.png?size=1"))
    assert next(iter(store.objects)).endswith("-a.png")


def test_a_url_that_cannot_be_fetched_is_an_input_error(call: Caller, service: Service, store: Store) -> None:
    store.fail("GET", (404, {}, b""))
    with pytest.raises(InputError, match="answered 404") as caught:
        call(lambda client: client.remove_background(f"{store.origin}/images/a.png"))
    assert (caught.value.status, caught.value.retryable) == (404, False)
    assert service.requests == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "empty"),
        (b"This is no image.", "not a PNG, JPEG or WebP"),
        (b"\x89PNG" + bytes(20 * 1024 * 1024), "largest file"),
        ("missing.png", "No such file"),
        (".", "cannot be read"),
        (lambda: io.StringIO("text"), "binary mode"),
        (lambda: io.BytesIO(b"\x89PNG" + bytes(20 * 1024 * 1024)), "largest file"),
        (7, "must be a path"),
    ],
)
def test_an_input_that_cannot_be_an_image_is_refused_before_any_request(
    call: Caller, service: Service, value: Any, reason: str
) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        call(lambda client: client.remove_background(value() if callable(value) else value))
    assert (caught.value.code, caught.value.retryable) == ("CLIENT_INPUT", False)
    assert service.requests == []


def test_a_content_type_of_the_caller_replaces_the_look_at_the_first_bytes(call: Caller, store: Store) -> None:
    call(lambda client: client.remove_background(b"avif", content_type="image/avif"))
    assert store.sent("PUT")[0].headers["content-type"] == "image/avif"


def test_images_of_pillow_go_in_and_come_out(call: Caller, store: Store) -> None:
    image_module = pytest.importorskip("PIL.Image")
    photo = image_module.new("CMYK", (3, 2))
    buffer = io.BytesIO()
    image_module.new("RGBA", (3, 2)).save(buffer, "PNG")
    store.result = buffer.getvalue()
    cutout = call(lambda client: client.remove_background(photo))
    assert image_module.open(io.BytesIO(next(iter(store.objects.values())))).size == (3, 2)
    image = asyncio.run(cutout.image()) if call.kind == "async" else cutout.image()
    assert (image.size, image.mode) == ((3, 2), "RGBA")


def test_save_writes_the_file_whole_or_not_at_all(call: Caller, tmp_path: Path) -> None:
    cutout = call(lambda client: client.remove_background(PNG))
    save = (lambda path: asyncio.run(cutout.save(path))) if call.kind == "async" else cutout.save
    save(tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes() == RESULT
    with pytest.raises(InputError, match="cannot be written"):
        save(tmp_path / "out.png" / "out.png")
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_save_creates_missing_folders_and_takes_the_longest_name(call: Caller, tmp_path: Path) -> None:
    cutout = call(lambda client: client.remove_background(PNG))
    save = (lambda path: asyncio.run(cutout.save(path))) if call.kind == "async" else cutout.save
    target = tmp_path / "a" / "b" / ("x" * 251 + ".png")
    save(target)
    assert target.read_bytes() == RESULT


@pytest.mark.parametrize("operation", ["POST /uploads/presign", "POST /tasks", "GET /tasks/{id}"])
@pytest.mark.parametrize(
    "fault",
    [
        cut,
        cut_in_body,
        refusal(503, "TASK_MAINTENANCE", headers={"retry-after": "3"}),
        refusal(429, "RATE_LIMIT_EXCEEDED", headers={"retry-after": "3"}),
        refusal(500, "SYSTEM_INTERNAL_ERROR", headers={"retry-after": "3"}),
        (502, {"retry-after": "3"}, b"<html>Bad gateway</html>"),
    ],
)
def test_a_failed_request_is_sent_again_and_makes_one_task(
    call: Caller, service: Service, operation: str, fault: Any
) -> None:
    service.first, service.reads_left = "queued", 1
    service.fail(operation, fault, fault)
    cutout = call(lambda client: client.remove_background(PNG))
    assert call.content(cutout) == RESULT
    assert len(service.sent(operation)) == 3
    assert len(service.tasks) == 1
    keys = {each.headers["idempotency-key"] for each in service.sent("POST /tasks")}
    assert len(keys) == 1
    waits = [3.0, 3.0] if isinstance(fault, tuple) else [0.0, 0.0]
    assert [each for each in call.sleeps.seconds if each != 0.25] == waits


def test_a_creation_whose_answer_is_lost_makes_one_task(call: Caller, service: Service) -> None:
    def lose_answer(exchange: Exchange) -> None:
        with service.lock:
            task = service.new_task(exchange)
            service.by_key[exchange.headers["idempotency-key"]] = task["id"]
        cut_in_body(exchange)

    service.fail("POST /tasks", lose_answer)
    cutout = call(lambda client: client.remove_background(PNG))
    assert list(service.tasks) == [cutout.task_id]


def test_an_upload_that_is_cut_is_sent_again_whole(call: Caller, service: Service, store: Store) -> None:
    store.cut_uploads = 2
    call(lambda client: client.remove_background(PNG))
    assert list(store.objects.values()) == [PNG]
    assert len(service.sent("POST /uploads/presign")) == 1


def test_a_download_that_is_cut_or_short_is_sent_again(call: Caller, store: Store) -> None:
    store.fail("GET", cut, cut_in_body, (503, {}, b""))
    cutout = call(lambda client: client.remove_background(PNG))
    assert call.content(cutout) == RESULT


def test_a_download_that_stays_short_is_a_connection_error_with_the_task(call: Caller, store: Store) -> None:
    store.fail("GET", *[cut_in_body] * 6)
    with pytest.raises(matte.ConnectionError) as caught:
        call(lambda client: client.remove_background(PNG))
    assert (caught.value.code, caught.value.retryable) == ("CLIENT_CONNECTION", True)
    assert caught.value.task_id is not None
    assert len(store.sent("GET")) == 6


def test_an_expired_grant_and_an_expired_link_are_asked_for_again(call: Caller, service: Service, store: Store) -> None:
    store.fail("PUT", (403, {}, b"<Error>Request has expired</Error>"))
    store.fail("GET", (403, {}, b"<Error>Request has expired</Error>"))
    call(lambda client: client.remove_background(PNG))
    assert len(service.sent("POST /uploads/presign")) == 2
    assert len(service.sent("GET /tasks/{id}")) == 1


def test_a_failed_task_raises_its_reason(call: Caller, service: Service) -> None:
    service.first = "failed"
    service.failure = {"reason": "INPUT_UNREADABLE", "message": "It is damaged.", "retryable": False}
    with pytest.raises(TaskFailedError, match="It is damaged") as caught:
        call(lambda client: client.remove_background(PNG))
    error = caught.value
    assert (error.code, error.retryable, error.status) == ("INPUT_UNREADABLE", False, None)
    assert error.task_id in service.tasks


def test_a_task_that_is_canceled_elsewhere_raises_with_its_id(call: Caller, service: Service) -> None:
    service.first = "canceled"
    with pytest.raises(CanceledError, match="The task was canceled") as caught:
        call(lambda client: client.remove_background(PNG))
    assert caught.value.task_id in service.tasks


def test_the_wait_ends_with_a_timeout_that_names_the_task(call: Caller, service: Service) -> None:
    service.first, service.reads_left = "processing", 10_000
    with pytest.raises(matte.TimeoutError, match="still processing after 30 s") as caught:
        call(lambda client: client.remove_background(PNG, wait=30))
    assert (caught.value.code, caught.value.task_id in service.tasks) == ("CLIENT_TIMEOUT", True)
    assert sum(call.sleeps.seconds) == pytest.approx(30)


def test_unknown_options_are_refused_by_name(call: Caller) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        call(lambda client: client.remove_background(PNG, colour="red"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'file_name'"):
        call(lambda client: client.remove_backgrounds([PNG], file_name="a"))


def cancel_at(service: Service, operation: str, cancel: Any, *, answered: bool = True) -> None:
    """Sets the signal while a request is in progress; its answer comes, or never does."""

    def act(exchange: Exchange) -> None:
        if operation == "POST /tasks" and not answered:
            with service.lock:
                task = service.new_task(exchange)
                service.by_key[exchange.headers["idempotency-key"]] = task["id"]
        cancel.set()
        if answered:
            service.handle(exchange)
        else:
            released.wait(30)

    released = threading.Event()
    service.release = released  # type: ignore[attr-defined]
    service.fail(operation, act)


def test_a_canceled_call_cancels_its_queued_task(call: Caller, service: Service) -> None:
    cancel = threading.Event()
    service.first, service.reads_left = "queued", 10_000
    cancel_at(service, "GET /tasks/{id}", cancel)
    with pytest.raises(CanceledError, match="was canceled and is not charged") as caught:
        call(lambda client: client.remove_background(PNG, cancel=cancel))
    error = caught.value
    assert (error.code, error.retryable, error.details) == ("CLIENT_ABORTED", False, {"canceled": True})
    assert service.tasks[str(error.task_id)]["status"] == "canceled"


def test_a_cancel_during_the_creation_finds_its_task_by_the_key(call: Caller, service: Service) -> None:
    cancel = threading.Event()
    service.first = "queued"
    cancel_at(service, "POST /tasks", cancel, answered=False)
    with pytest.raises(CanceledError) as caught:
        call(lambda client: client.remove_background(PNG, cancel=cancel))
    service.release.set()  # type: ignore[attr-defined]
    assert [(each, task["status"]) for each, task in service.tasks.items()] == [(caught.value.task_id, "canceled")]
    assert "prefer" not in service.sent("POST /tasks")[1].headers


def test_a_task_in_progress_goes_on_after_a_cancel_and_can_be_fetched(call: Caller, service: Service) -> None:
    cancel = threading.Event()
    service.first, service.reads_left = "processing", 10_000
    cancel_at(service, "GET /tasks/{id}", cancel)
    with pytest.raises(CanceledError, match="goes on and can be fetched by its id") as caught:
        call(lambda client: client.remove_background(PNG, cancel=cancel))
    task_id = str(caught.value.task_id)
    assert caught.value.details == {"canceled": False}
    service.move(task_id, "succeeded")
    assert call.content(call(lambda client: client.tasks.download(task_id))) == RESULT


def test_a_cancel_before_the_call_sends_nothing(call: Caller, service: Service) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CanceledError) as caught:
        call(lambda client: client.remove_background(PNG, cancel=cancel))
    assert caught.value.task_id is None
    assert service.requests == []


def test_a_cancellation_of_asyncio_keeps_its_class_and_names_the_task(service: Service) -> None:
    service.first, service.reads_left = "queued", 10_000

    async def main() -> MatteError:
        async with AsyncMatte(API_KEY, f"{service.origin}/api/v1") as client:
            polled = asyncio.Event()
            loop = asyncio.get_running_loop()

            def act(exchange: Exchange) -> None:
                loop.call_soon_threadsafe(polled.set)
                service.handle(exchange)

            service.fail("GET /tasks/{id}", act)
            task = asyncio.ensure_future(client.remove_background(PNG))
            await polled.wait()
            task.cancel()
            try:
                await task
            except asyncio.CancelledError as error:
                assert task.cancelled()
                return find_cause(error)
        raise AssertionError("the call was not canceled")

    error = asyncio.run(main())
    assert (error.code, error.task_id) == ("CLIENT_ABORTED", next(iter(service.tasks)))
    assert next(iter(service.tasks.values()))["status"] == "canceled"


def find_cause(error: BaseException | None) -> MatteError:
    """A task of asyncio raises a new CancelledError with the first one as its context."""
    while error is not None:
        if isinstance(error, MatteError):
            return error
        error = error.__cause__ or error.__context__
    raise AssertionError("no cause names the task")


def test_ctrl_c_cancels_the_queued_task_and_stays_a_keyboard_interrupt(service: Service) -> None:
    call = Caller("sync", service)
    service.first, service.reads_left = "queued", 10_000

    def interrupt(progress: Progress) -> None:
        if progress.state == "queued" and progress.task_id is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        call(lambda client: client.remove_background(PNG, on_progress=interrupt))
    assert find_cause(caught.value).task_id in service.tasks
    assert next(iter(service.tasks.values()))["status"] == "canceled"


def test_the_synchronous_client_works_inside_a_running_loop(service: Service) -> None:
    async def main() -> Any:
        return Caller("sync", service)(lambda client: client.remove_background(PNG))

    assert asyncio.run(main()).bytes() == RESULT


@pytest.mark.parametrize(
    ("background", "sent"),
    [
        ("#fff", "#ffffff"),
        ("#1aB8", "#11aaBB88"),
        ("#ffffff", "#ffffff"),
        ("#12345678", "#12345678"),
        ("transparent", "transparent"),
        ("#12", "#12"),
        ("#ggg", "#ggg"),
    ],
)
def test_a_short_background_is_sent_in_full(background: str, sent: str) -> None:
    assert build_request({"background": background}) == {"output": {"background": sent}}
