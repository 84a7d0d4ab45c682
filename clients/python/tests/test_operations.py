from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
from support import ROOT, Caller, Service

import matte
from matte import AsyncMatte, Matte, MatteError, errors
from matte._generated import ERROR_CODES, FAILURE_REASONS
from matte._sync_client import Listing


@pytest.mark.parametrize(
    ("send", "request_line", "body"),
    [
        (
            lambda c: c.uploads.create(file_name="a.png", content_type="image/png", file_size=3),
            "POST /uploads/presign",
            {"fileName": "a.png", "contentType": "image/png", "fileSize": 3},
        ),
        (
            lambda c: c.tasks.create(image_url="a", callback_url="https://a.example", output={"cropMargin": "1px"}),
            "POST /tasks",
            {"imageUrl": "a", "callbackUrl": "https://a.example", "output": {"cropMargin": "1px"}},
        ),
        (
            lambda c: c.tasks.create(image_url="a", retention=600),
            "POST /tasks",
            {"imageUrl": "a", "retention": 600},
        ),
        (lambda c: c.tasks.retry("x"), "POST /tasks/x/retry", None),
        (lambda c: c.tasks.erase_images("x"), "DELETE /tasks/x/images", None),
        (
            lambda c: c.tasks.list(min_confidence=0, max_confidence=0.89).page(),
            "GET /tasks?minConfidence=0&maxConfidence=0.89",
            None,
        ),
        (
            lambda c: c.batches.create(image_urls=["a", "b"], model="m"),
            "POST /batch-tasks",
            {"imageUrls": ["a", "b"], "modelVersion": "m"},
        ),
        (lambda c: c.batches.get("x"), "GET /batch-tasks/x", None),
        (lambda c: c.batches.cancel("x"), "DELETE /batch-tasks/x", None),
        (lambda c: c.batches.list(page=2, page_size=5).page(), "GET /batch-tasks?page=2&pageSize=5", None),
        (
            lambda c: c.webhooks.create(target_url="https://a.example", event_types=["task.failed"]),
            "POST /webhooks",
            {"targetUrl": "https://a.example", "eventTypes": ["task.failed"]},
        ),
        (lambda c: c.webhooks.list().page(), "GET /webhooks", None),
        (lambda c: c.webhooks.get("x"), "GET /webhooks/x", None),
        (
            lambda c: c.webhooks.update("x", description="", status="disabled"),
            "PATCH /webhooks/x",
            {"description": "", "status": "disabled"},
        ),
        (lambda c: c.webhooks.delete("x"), "DELETE /webhooks/x", None),
        (
            lambda c: c.webhooks.rotate_secret("x", overlap_seconds=0),
            "POST /webhooks/x/rotate-secret",
            {"overlapSeconds": 0},
        ),
        (lambda c: c.webhooks.test("x"), "POST /webhooks/x/test", None),
        (
            lambda c: c.webhooks.deliveries("x", status="exhausted", event="task.failed").page(),
            "GET /webhooks/x/deliveries?status=exhausted&event=task.failed",
            None,
        ),
        (lambda c: c.webhooks.redeliver("x"), "POST /webhooks/deliveries/x/redeliver", None),
        (
            lambda c: c.webhooks.recover("x", since="2026-11-21", dry_run=True),
            "POST /webhooks/x/recover",
            {"since": "2026-11-21", "dryRun": True},
        ),
        (
            lambda c: c.webhooks.recover(
                "x", since="2026-11-21", until="2026-11-22", event_types=["task.*"], statuses=["paused"]
            ),
            "POST /webhooks/x/recover",
            {
                "since": "2026-11-21",
                "until": "2026-11-22",
                "eventTypes": ["task.*"],
                "statuses": ["paused"],
                "dryRun": False,
            },
        ),
        (
            lambda c: c.webhooks.create(target_url="https://a.example", headers={"X-Shop": "1"}),
            "POST /webhooks",
            {"targetUrl": "https://a.example", "eventTypes": [], "headers": {"X-Shop": "1"}},
        ),
        (
            lambda c: c.webhooks.update("x", headers={"X-Shop": None}),
            "PATCH /webhooks/x",
            {"headers": {"X-Shop": None}},
        ),
        (lambda c: c.webhooks.sample("x", "task.failed"), "POST /webhooks/x/samples", {"event": "task.failed"}),
        (lambda c: c.webhooks.trigger("task.failed"), "POST /webhooks/trigger", {"event": "task.failed"}),
        (lambda c: c.webhooks.stats("x"), "GET /webhooks/x/stats", None),
        (lambda c: c.webhooks.delivery("x"), "GET /webhooks/deliveries/x", None),
        (lambda c: c.webhooks.event("x"), "GET /webhooks/events/x", None),
        (lambda c: c.webhooks.egress_addresses(), "GET /webhooks/egress-addresses", None),
        (
            lambda c: c.webhooks.callback_deliveries(cursor="q").page(),
            "GET /webhooks/callback-deliveries?cursor=q",
            None,
        ),
        (lambda c: c.webhooks.signing_secret(), "GET /signing-secret", None),
        (lambda c: c.api_keys.list().page(), "GET /api-keys", None),
        (lambda c: c.usage.get(), "GET /usage", None),
        (lambda c: c.models.list().page(), "GET /models", None),
        (
            lambda c: c.request("PUT", "/open/developer/new", query={"a": True, "b": None}, body={"ä": 1}),
            "PUT /new?a=true",
            {"ä": 1},
        ),
    ],
)
def test_each_operation_sends_its_request(
    call: Caller, service: Service, send: Any, request_line: str, body: Any
) -> None:
    call(send)
    exchange = service.requests[0]
    assert f"{exchange.method} {exchange.handler.path.removeprefix(ROOT)}" == request_line
    assert exchange.json == body


def test_a_task_can_be_read_waited_for_canceled_and_downloaded_by_its_id(call: Caller, service: Service) -> None:
    service.first, service.reads_left = "queued", 2
    created = call(lambda client: client.tasks.create(image_url="a"))
    assert call(lambda client: client.tasks.get(created["id"]))["status"] == "queued"
    assert call(lambda client: client.tasks.wait(created["id"]))["status"] == "succeeded"
    assert call(lambda client: client.tasks.download(created["id"])).task_id == created["id"]
    second = call(lambda client: client.tasks.create(image_url="a"))
    assert call(lambda client: client.tasks.cancel(second["id"]))["status"] == "canceled"
    assert call(lambda client: client.tasks.cancel(second["id"]))["status"] == "canceled"
    with pytest.raises(matte.ConflictError) as caught:
        call(lambda client: client.tasks.cancel(created["id"]))
    assert (caught.value.code, caught.value.task_id) == ("TASK_CANNOT_CANCEL", created["id"])
    with pytest.raises(matte.InputError, match="Only a succeeded task has a result"):
        call(lambda client: client.tasks.download(second["id"]))


def test_a_wait_of_a_creation_is_sent_unless_the_timeout_is_shorter(call: Caller, service: Service) -> None:
    call(lambda client: client.tasks.create(image_url="a", wait=15))
    call(lambda client: client.tasks.create(image_url="a", wait=15), timeout=10)
    call(lambda client: client.tasks.create(image_url="a", wait=15), timeout=3)
    assert [each.headers.get("prefer") for each in service.requests] == ["wait=15", "wait=5", None]


def test_uploads_put_returns_the_object_key(call: Caller, service: Service) -> None:
    from support import PNG

    key = call(lambda client: client.uploads.put(PNG, file_name="a.png"))
    assert service.store.objects == {key: PNG}


def test_a_list_reads_all_records_by_cursor(call: Caller, service: Service) -> None:
    items = call(lambda client: client.tasks.list(status="failed"))
    assert [each["id"] for each in items] == [str(number) for number in range(250)]
    queries = [each.query for each in service.requests]
    assert queries == [
        {"pageSize": "100", "status": "failed"},
        {"pageSize": "100", "status": "failed", "cursor": "100"},
        {"pageSize": "100", "status": "failed", "cursor": "200"},
    ]
    assert len(call(lambda client: client.tasks.list(page_size=50).all())) == 250


def test_a_page_has_the_counts_of_the_list(call: Caller) -> None:
    page = call(lambda client: client.tasks.list(page_size=7).page())
    assert (len(page.items), page.page, page.page_size, page.total, page.next_cursor) == (7, 1, 7, 250, "7")
    assert page.total_is_minimum is False


def test_a_list_that_starts_at_a_page_goes_on_by_cursor(call: Caller, service: Service) -> None:
    call(lambda client: client.tasks.list(page=2))
    assert [("page" in each.query, each.query.get("cursor")) for each in service.requests[:2]] == [
        (True, None),
        (False, "100"),
    ]


def signatures(client: Any) -> dict[str, Any]:
    """Parameters of every public method, and whether it returns a list."""
    found: dict[str, Any] = {}
    groups = {name: each for name, each in vars(client).items() if not name.startswith("_")}
    for group, owner in {"": client, **groups}.items():
        for name, method in inspect.getmembers(owner, callable):
            if not name.startswith("_"):
                parameters = inspect.signature(method).parameters.values()
                found[f"{group}.{name}"] = [(each.name, each.kind, each.default) for each in parameters]
    return found


def test_both_clients_have_the_same_methods_and_parameters() -> None:
    own = signatures(Matte("key", "http://a.example/api/v1"))
    other = signatures(AsyncMatte("key", "http://a.example/api/v1"))
    own[".aclose"] = own.pop(".close")
    assert own == other
    assert len(own) > 30
    constructors = [list(inspect.signature(each).parameters) for each in (Matte, AsyncMatte)]
    assert constructors[0] == constructors[1]
    assert set(dir(Listing)) - set(dir(matte.AsyncListing)) == {"__iter__"}


@pytest.mark.parametrize("code", [*ERROR_CODES, *FAILURE_REASONS])
def test_every_code_of_the_service_has_a_class(code: str) -> None:
    error = errors.make_error(code, "text")
    assert type(error) is not MatteError
    assert error.code == code


def test_an_error_survives_pickle_and_shows_code_and_request() -> None:
    error = errors.make_error("CONFLICT", "Once.", status=409, request_id="r-9", details={"a": 1}, task_id="t")
    error.task_id = "t-2"
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert (type(again), str(again)) == (matte.ConflictError, "CONFLICT: Once. (request r-9)")


def test_an_unknown_code_of_a_later_service_is_a_server_error_by_its_status() -> None:
    assert type(errors.make_error("NEW", "text", status=507)) is matte.ServerError
    assert type(errors.make_error("NEW", "text", status=422)) is MatteError


def test_all_exported_names_exist() -> None:
    assert all(hasattr(matte, name) for name in matte.__all__)
    assert sorted(matte.__all__) == matte.__all__
