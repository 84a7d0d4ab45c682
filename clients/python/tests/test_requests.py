from __future__ import annotations

import socket
import threading
import time
from typing import Any
from wsgiref.handlers import format_date_time

import httpx
import pytest
from support import Caller, Exchange, Service, cut, refusal

import matte
from matte import ConfigError, MatteError, RateLimitError


def failure(call: Caller, **options: Any) -> MatteError:
    with pytest.raises(MatteError) as caught:
        call(lambda client: client.usage.get(), **options)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_PARAMS", "InvalidParamsError"),
        (401, "API_KEY_INVALID", "AuthenticationError"),
        (400, "CREDITS_INSUFFICIENT", "InsufficientCreditsError"),
        (403, "API_KEY_INSUFFICIENT_SCOPE", "PermissionDeniedError"),
        (403, "TASK_INPUT_FORBIDDEN", "PermissionDeniedError"),
        (404, "NOT_FOUND", "NotFoundError"),
        (409, "CONFLICT", "ConflictError"),
        (418, "BREWING", "MatteError"),
    ],
)
def test_a_final_error_is_typed_by_its_code_and_not_retried(
    call: Caller, service: Service, status: int, code: str, kind: str
) -> None:
    service.fail("GET /usage", refusal(status, code, details={"a": 1}))
    error = failure(call)
    assert (type(error).__name__, error.code, error.status, error.retryable) == (kind, code, status, False)
    assert (error.request_id, error.details) == ("r-2", {"a": 1})
    assert error.docs == f"{service.origin}/docs/errors/{code}"
    assert len(service.requests) == 1


def test_the_message_names_the_parameters_that_the_service_rejects(call: Caller, service: Service) -> None:
    issues = [{"path": "/body/output/background", "message": "must be #rrggbb"}]
    service.fail("GET /usage", refusal(400, "INVALID_PARAMS", details={"issues": issues}))
    error = failure(call)
    assert str(error).count("output.background must be #rrggbb.") == 1
    assert error.details == {"issues": issues}


def test_a_rate_limit_that_lasts_is_raised_after_all_retries(call: Caller, service: Service) -> None:
    service.fail("GET /usage", *[refusal(429, "RATE_LIMIT_EXCEEDED", headers={"retry-after": "2"})] * 6)
    error = failure(call)
    assert isinstance(error, RateLimitError)
    assert (error.code, error.retryable, error.retry_after) == ("RATE_LIMIT_EXCEEDED", True, 2.0)
    assert call.sleeps.seconds == [2.0] * 5


def test_retries_max_bounds_the_retries(call: Caller, service: Service) -> None:
    service.fail("GET /usage", *[cut] * 6)
    assert failure(call, retries_max=1).code == "CLIENT_CONNECTION"
    assert len(service.requests) == 2
    assert failure(call, retries_max=0).code == "CLIENT_CONNECTION"
    assert len(service.requests) == 3


def test_retry_after_can_be_a_date(call: Caller, service: Service) -> None:
    date = format_date_time(time.time() + 60)
    service.fail("GET /usage", refusal(503, "TASK_MAINTENANCE", headers={"retry-after": date}))
    call(lambda client: client.usage.get())
    assert len(call.sleeps.seconds) == 1
    assert 50 < call.sleeps.seconds[0] <= 60


def test_a_long_retry_after_is_the_callers_decision(call: Caller, service: Service) -> None:
    service.fail("GET /usage", refusal(503, "TASK_MAINTENANCE", headers={"retry-after": "3600"}))
    error = failure(call)
    assert (error.code, error.retryable, error.retry_after) == ("TASK_MAINTENANCE", True, 3600.0)
    assert call.sleeps.seconds == []


def test_a_used_up_quota_is_not_retried(call: Caller, service: Service) -> None:
    service.fail("GET /usage", refusal(429, "DEVELOPER_API_QUOTA_EXCEEDED", headers={"retry-after": "1"}))
    error = failure(call)
    assert (type(error).__name__, error.retryable, len(service.requests)) == ("QuotaExceededError", False, 1)


def test_the_limit_of_open_tasks_is_retryable_and_not_retried(call: Caller, service: Service) -> None:
    service.fail("POST /tasks", refusal(400, "TASK_CONCURRENT_LIMIT"))
    with pytest.raises(RateLimitError) as caught:
        call(lambda client: client.tasks.create(image_url="a"))
    assert (caught.value.code, caught.value.retryable) == ("TASK_CONCURRENT_LIMIT", True)
    assert len(service.sent("POST /tasks")) == 1


@pytest.mark.parametrize("status", [200, 400, 404, 413])
def test_a_response_of_something_else_is_a_wrong_base_url(call: Caller, service: Service, status: int) -> None:
    service.fail("GET /usage", (status, {"content-type": "text/html"}, b"<html>Welcome</html>"))
    error = failure(call)
    assert (type(error), error.retryable, error.status) == (ConfigError, False, status)
    assert service.origin in error.message
    assert "/api/v1" in error.message


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_error_of_a_proxy_is_a_connection_error_after_all_retries(
    call: Caller, service: Service, status: int
) -> None:
    service.fail("GET /usage", *[(status, {}, b"<html>Oops</html>")] * 6)
    error = failure(call)
    assert (error.code, error.status, error.retryable) == ("CLIENT_CONNECTION", status, True)
    assert len(service.requests) == 6


def test_a_redirect_is_not_followed(call: Caller, service: Service) -> None:
    service.fail("GET /usage", (307, {"location": "https://other.example/api/v1?key=s3cr3t"}, b""))
    error = failure(call)
    assert (error.code, error.details) == ("CLIENT_CONFIG", {"location": "https://other.example/api/v1"})


def test_a_refused_connection_names_the_host(call: Caller) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = failure(call, base_url=f"http://127.0.0.1:{port}/api/v1")
    assert (error.code, error.retryable, error.status) == ("CLIENT_CONNECTION", True, None)
    assert f"127.0.0.1:{port}" in error.message


def test_silence_is_a_timeout_after_all_retries(call: Caller, service: Service) -> None:
    released = threading.Event()
    service.fail("GET /usage", *[lambda _: released.wait(30)] * 2)
    error = failure(call, timeout=0.05, retries_max=1)
    released.set()
    assert (type(error), error.code, error.retryable) == (matte.TimeoutError, "CLIENT_TIMEOUT", True)


def test_a_post_that_may_have_had_an_effect_is_not_repeated(call: Caller, service: Service) -> None:
    service.fail("POST /webhooks/x/test", cut)
    with pytest.raises(matte.ConnectionError):
        call(lambda client: client.webhooks.test("x"))
    assert len(service.requests) == 1
    service.fail("POST /webhooks/x/test", refusal(429, "RATE_LIMIT_EXCEEDED"))
    call(lambda client: client.webhooks.test("x"))
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("send", "operation"),
    [
        (lambda client: client.tasks.create(image_url="a"), "POST /tasks"),
        (lambda client: client.tasks.retry("x"), "POST /tasks/x/retry"),
        (lambda client: client.batches.create(image_urls=["a"]), "POST /batch-tasks"),
        (lambda client: client.webhooks.create(target_url="https://a.example"), "POST /webhooks"),
        (lambda client: client.request("POST", "/open/developer/tasks/x/retry"), "POST /tasks/x/retry"),
    ],
)
def test_each_post_that_creates_or_charges_keeps_one_key_over_its_retries(
    call: Caller, service: Service, send: Any, operation: str
) -> None:
    service.fail(operation, cut, cut, lambda exchange: service.data(exchange, {}))
    call(send)
    call(send) if operation != "POST /tasks" else None
    keys = [each.headers["idempotency-key"] for each in service.sent(operation)]
    assert len(set(keys[:3])) == 1
    assert len(set(keys)) == (1 if operation == "POST /tasks" else 2)


def test_a_key_of_the_caller_is_sent(call: Caller, service: Service) -> None:
    call(lambda client: client.tasks.create(image_url="a", idempotency_key="order-4711"))
    assert service.sent("POST /tasks")[0].headers["idempotency-key"] == "order-4711"


def test_a_creation_in_progress_under_its_key_is_waited_for(call: Caller, service: Service) -> None:
    service.fail("POST /tasks", refusal(409, "CONFLICT", headers={"retry-after": "1"}))
    assert call(lambda client: client.tasks.create(image_url="a"))["status"] == "succeeded"
    assert call.sleeps.seconds == [1.0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"api_key": ""}, "no API key"),
        ({"api_key": "käse"}, "Copy it again"),
        ({"api_key": "a\nb"}, "Copy it again"),
        ({"base_url": ""}, "no address"),
        ({"base_url": "localhost:8080"}, "http or https URL"),
        ({"base_url": "ftp://a.example/api/v1"}, "http or https URL"),
        ({"base_url": "https://a.example/api/v1?x=1"}, "without user, query"),
        ({"base_url": "https://user:word@a.example/api/v1"}, "without user, query"),
        ({"base_url": "https://a.example"}, "such as https://matte.example.com/api/v1"),
        ({"base_url": "http://a.example:99999/api/v1"}, "http or https URL"),
        ({"timeout": 0}, "`timeout`"),
        ({"retries_max": -1}, "`retries_max`"),
        ({"retries_max": 1.5}, "`retries_max`"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(
    call: Caller, service: Service, options: Any, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        call(lambda client: client.usage.get(), **options)
    assert caught.value.code == "CLIENT_CONFIG"
    assert "word" not in str(caught.value)
    assert service.requests == []


def test_key_and_address_come_from_the_environment(
    call: Caller, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATTE_API_KEY", " service_live_secretsecretsecret\n")
    monkeypatch.setenv("MATTE_BASE_URL", f"{service.origin}/api/v1/")
    assert call(lambda client: client.usage.get(), api_key=None, base_url=None)
    assert service.requests[0].path == "/api/v1/open/developer/usage"


def test_a_missing_version_path_is_named_after_a_404(call: Caller, service: Service) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.send(*refusal(404, "NOT_FOUND"))

    service.handle = answer  # type: ignore[method-assign]
    error = failure(call, base_url=f"{service.origin}/v1")
    assert "/api/v1" in error.message


def test_an_empty_id_is_refused_instead_of_becoming_a_list(call: Caller, service: Service) -> None:
    with pytest.raises(MatteError, match="value of id is missing"):
        call(lambda client: client.tasks.get(""))
    with pytest.raises(MatteError, match="start with a slash"):
        call(lambda client: client.request("GET", "open/developer/usage"))
    assert service.requests == []


def test_ids_are_escaped_in_paths(call: Caller, service: Service) -> None:
    call(lambda client: client.webhooks.get("a/../b?c"))
    assert service.requests[0].path.endswith("/webhooks/a%2F..%2Fb%3Fc")


def test_an_http_client_of_the_caller_is_used_and_left_open(service: Service) -> None:
    with httpx.Client(headers={"x-team": "shop"}) as own:
        with matte.Matte("service_live_secretsecretsecret", f"{service.origin}/api/v1", http_client=own) as client:
            client.usage.get()
        assert service.requests[0].headers["x-team"] == "shop"
        assert own.is_closed is False


def test_the_user_agent_names_program_client_and_python(call: Caller, service: Service) -> None:
    call(lambda client: client.usage.get(), user_agent="shop/1")
    assert service.requests[0].headers["user-agent"].startswith("shop/1 matte-client/")


class ShortAnswers(httpx.BaseTransport):
    """A transport that does not compare a body with its Content-Length, unlike that of httpx."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-length": "99"}, stream=httpx.ByteStream(b'{"data":{}}'))


def test_a_short_body_is_a_connection_error_on_any_transport() -> None:
    own = httpx.Client(transport=ShortAnswers())
    client = matte.Matte("key", "http://a.example/api/v1", http_client=own, retries_max=0)
    with own, client, pytest.raises(matte.ConnectionError, match="11 of 99 bytes"):
        client.usage.get()
