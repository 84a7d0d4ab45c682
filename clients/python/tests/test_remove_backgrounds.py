from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import API_KEY, PNG, RESULT, Caller, Exchange, Service, Store, cut, refusal, slowly

from matte import AsyncMatte, CanceledError, ConfigError, Matte, NamedInput, Progress


def many(call: Caller, inputs: Any, **options: Any) -> dict[str, Any]:
    results = call(lambda client: client.remove_backgrounds(inputs, **options), own_clock=False)
    assert len({each.key for each in results}) == len(results)
    return {each.key: each for each in results}


def write_photos(folder: Path, count: int) -> list[str]:
    for number in range(count):
        (folder / f"{number}.png").write_bytes(PNG[: 1_000 + number])
    return [str(folder / f"{number}.png") for number in range(count)]


def test_results_come_with_the_keys_of_their_inputs(call: Caller, service: Service, tmp_path: Path) -> None:
    paths = write_photos(tmp_path, 3)
    inputs = [paths[0], tmp_path / "1.png", ("named", PNG), NamedInput("also", paths[2]), PNG]
    results = many(call, inputs, format="webp")
    assert set(results) == {paths[0], paths[1], "named", "also", "4"}
    assert all(call.content(each.cutout) == RESULT for each in results.values())
    assert all(each.error is None and not each.resumed for each in results.values())
    assert {body["output"]["format"] for body in service.bodies.values()} == {"webp"}


def test_an_error_of_one_input_leaves_the_others(call: Caller, tmp_path: Path) -> None:
    paths = write_photos(tmp_path, 2)
    results = many(call, [paths[0], "missing.png", paths[1]])
    assert results["missing.png"].error.code == "CLIENT_INPUT"
    assert results["missing.png"].cutout is None
    assert results[paths[1]].cutout is not None


def test_inputs_are_read_as_slots_become_free(call: Caller, service: Service) -> None:
    read: list[int] = []

    def endless() -> Iterator[Any]:
        for number in itertools.count():
            read.append(number)
            yield str(number), PNG

    def take(client: Any) -> Any:
        results = client.remove_backgrounds(endless(), concurrency=3)
        return take_sync(results) if call.kind == "sync" else take_async(results)

    def take_sync(results: Any) -> int:
        next(results)
        results.close()
        return len(read)

    async def take_async(results: Any) -> int:
        await results.__anext__()
        await results.aclose()
        return len(read)

    assert call(take, own_clock=False) <= 6


@pytest.mark.parametrize("concurrency", [1, 3, "auto"])
def test_no_more_tasks_are_open_than_asked_for(call: Caller, service: Service, concurrency: Any) -> None:
    service.first, service.reads_left = "queued", 2
    many(call, [(str(number), PNG) for number in range(12)], concurrency=concurrency)
    assert len(service.tasks) == 12
    assert service.open_peak <= (8 if concurrency == "auto" else concurrency)


@pytest.mark.parametrize("concurrency", ["auto", 9])
def test_the_plans_limit_of_open_tasks_is_adapted_to(call: Caller, service: Service, concurrency: Any) -> None:
    service.first, service.reads_left, service.open_max = "queued", 2, 2
    results = many(call, [(str(number), PNG) for number in range(12)], concurrency=concurrency)
    assert all(each.error is None for each in results.values())
    assert (len(service.tasks), service.open_peak) == (12, 2)
    assert len(service.sent("POST /uploads/presign")) == 12
    refused = len(service.sent("POST /tasks")) - 12
    assert 1 <= refused < 40


def test_a_limit_used_up_by_others_is_an_error_after_the_wait(call: Caller, service: Service) -> None:
    service.open_max = 0
    results = many(call, [("a", PNG)], wait=0.001)
    assert results["a"].error.code == "TASK_CONCURRENT_LIMIT"


def test_a_rate_limit_halves_the_number_of_tasks_and_loses_none(call: Caller, service: Service) -> None:
    answers = [refusal(429, "RATE_LIMIT_EXCEEDED", headers={"retry-after": "0"})] * 9
    service.fail("POST /tasks", *answers)
    results = many(call, [(str(number), PNG) for number in range(8)])
    assert all(each.error is None for each in results.values())
    assert len(service.tasks) == 8
    assert len({each.headers["idempotency-key"] for each in service.sent("POST /tasks")}) == 8


def test_progress_names_the_input(call: Caller) -> None:
    seen: list[Progress] = []
    many(call, [("a", PNG), ("b", PNG)], on_progress=seen.append)
    assert {each.key for each in seen} == {"a", "b"}
    assert {each.key for each in seen if each.state == "done"} == {"a", "b"}


def test_an_error_of_the_inputs_or_of_a_callback_ends_the_run(call: Caller) -> None:
    def inputs() -> Iterator[Any]:
        yield "a", PNG
        raise ZeroDivisionError("inputs")

    with pytest.raises(ZeroDivisionError, match="inputs"):
        many(call, inputs())

    def fail(_: Progress) -> None:
        raise ZeroDivisionError("callback")

    with pytest.raises(ZeroDivisionError, match="callback"):
        many(call, [("a", PNG)], on_progress=fail)


def test_asynchronous_inputs_are_read_by_the_asynchronous_client(service: Service) -> None:
    results = many(Caller("async", service), slowly([("a", PNG), ("b", PNG)]))
    assert set(results) == {"a", "b"}


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"concurrency": 1.5}, {"concurrency": True}, {"done": "no"}])
def test_wrong_options_are_refused(call: Caller, options: Any) -> None:
    with pytest.raises(ConfigError):
        many(call, [("a", PNG)], **options)


@pytest.mark.parametrize("inputs", ["chair.jpg", b"bytes"])
def test_a_single_input_is_refused(call: Caller, inputs: Any) -> None:
    with pytest.raises(ConfigError, match="list"):
        many(call, inputs)


def test_a_cancel_cancels_queued_tasks_and_ends_the_run(call: Caller, service: Service) -> None:
    cancel = threading.Event()
    service.first, service.reads_left = "queued", 10_000

    def act(exchange: Exchange) -> None:
        service.handle(exchange)
        if len(service.tasks) == 4:
            cancel.set()

    service.fail("POST /tasks", *[act] * 4)
    with pytest.raises(CanceledError):
        many(call, [(str(number), PNG) for number in range(9)], cancel=cancel)
    assert [each["status"] for each in service.tasks.values()] == ["canceled"] * 4


def test_leaving_the_loop_cancels_queued_tasks(service: Service) -> None:
    service.first, service.reads_left = "queued", 10_000

    def finish_first(exchange: Exchange) -> None:
        with service.lock:  # Other creations wait, so only this one succeeds.
            service.first = "succeeded"
            service.handle(exchange)
            service.first = "queued"

    def run_sync() -> None:
        with Matte(API_KEY, f"{service.origin}/api/v1") as client:
            for _ in client.remove_backgrounds([(str(number), PNG) for number in range(9)], concurrency=3):
                break

    async def run_async() -> None:
        async with AsyncMatte(API_KEY, f"{service.origin}/api/v1") as client:
            results = client.remove_backgrounds([(str(number), PNG) for number in range(9)], concurrency=3)
            async for _ in results:
                break
            await results.aclose()

    for run in (run_sync, lambda: asyncio.run(run_async())):
        service.tasks.clear()
        service.fail("POST /tasks", finish_first)
        run()
        statuses = [each["status"] for each in service.tasks.values()]
        assert statuses.count("succeeded") == 1
        assert set(statuses) <= {"succeeded", "canceled"}


def test_a_manifest_has_each_step_before_it_is_taken(call: Caller, service: Service, tmp_path: Path) -> None:
    manifest, [path] = tmp_path / "m.jsonl", write_photos(tmp_path, 1)
    lines_at_creation: list[str] = []

    def act(exchange: Exchange) -> None:
        lines_at_creation.extend(manifest.read_text().splitlines())
        service.handle(exchange)

    service.fail("POST /tasks", act)
    many(call, [path], manifest=manifest)
    creation = service.sent("POST /tasks")[0]
    entry = json.loads(lines_at_creation[-1])
    assert entry["state"] == "creating"
    assert entry["idempotencyKey"] == creation.headers["idempotency-key"]
    assert entry["objectKey"] == creation.json["imageUrl"]
    assert [json.loads(line).get("state") for line in manifest.read_text().splitlines()] == [
        None,
        "creating",
        "created",
        "done",
    ]


def test_done_inputs_are_skipped_or_downloaded_again_without_a_new_task(
    call: Caller, service: Service, tmp_path: Path
) -> None:
    manifest, paths = tmp_path / "m.jsonl", write_photos(tmp_path, 3)
    many(call, paths, manifest=manifest)
    assert many(call, paths, manifest=manifest) == {}
    again = many(call, paths, manifest=manifest, done="download")
    assert set(again) == set(paths)
    assert all(each.resumed for each in again.values())
    assert len(service.tasks) == 3


@pytest.mark.parametrize("stop_after", ["creating", "created"])
@pytest.mark.parametrize("is_created", [True, False])
def test_a_run_after_a_crash_makes_no_second_task(
    call: Caller, service: Service, tmp_path: Path, stop_after: str, is_created: bool
) -> None:
    manifest, [path] = tmp_path / "m.jsonl", write_photos(tmp_path, 1)
    many(call, [path], manifest=manifest)
    lines = manifest.read_text().splitlines(keepends=True)
    kept = lines[: 2 if stop_after == "creating" else 3]
    manifest.write_text("".join(kept) + lines[-1][:25])
    if stop_after == "creating" and not is_created:
        service.tasks.clear()
        service.by_key.clear()
    results = many(call, [path], manifest=manifest)
    assert results[path].resumed
    assert len(service.tasks) == 1
    assert len(service.sent("POST /uploads/presign")) == 1
    creations = service.sent("POST /tasks")
    assert len({each.headers["idempotency-key"] for each in creations}) == 1
    assert len({each.body for each in creations}) == 1


def test_a_crash_in_the_middle_of_a_run_is_continued(call: Caller, service: Service, tmp_path: Path) -> None:
    manifest, paths = tmp_path / "m.jsonl", write_photos(tmp_path, 8)
    service.fail("POST /tasks", *[service.handle] * 3, *[cut] * 5)
    results = call(lambda client: client.remove_backgrounds(paths, manifest=manifest), own_clock=False, retries_max=0)
    failed = [each for each in results if each.error is not None]
    assert len(failed) == 5
    second = many(call, paths, manifest=manifest)
    assert set(second) == {each.key for each in failed}
    assert len(service.tasks) == 8


def test_a_changed_file_or_another_option_makes_a_new_task(call: Caller, service: Service, tmp_path: Path) -> None:
    manifest, [path] = tmp_path / "m.jsonl", write_photos(tmp_path, 1)
    many(call, [path], manifest=manifest)
    Path(path).write_bytes(PNG)
    assert not many(call, [path], manifest=manifest)[path].resumed
    assert not many(call, [path], manifest=manifest, format="webp")[path].resumed
    assert len(service.tasks) == 3


@pytest.mark.parametrize("status", ["failed", "canceled", "gone"])
def test_a_task_that_ended_without_a_result_is_made_again(
    call: Caller, service: Service, tmp_path: Path, status: str
) -> None:
    manifest, [path] = tmp_path / "m.jsonl", write_photos(tmp_path, 1)
    service.first = "canceled" if status == "canceled" else "failed"
    service.failure = {"reason": "INTERNAL", "message": "It failed.", "retryable": True}
    assert many(call, [path], manifest=manifest)[path].error is not None
    if status == "gone":
        service.tasks.clear()
    service.first = "succeeded"
    result = many(call, [path], manifest=manifest)[path]
    assert (result.error, result.resumed) == (None, False)


def test_an_entry_older_than_a_day_is_found_by_its_upload(call: Caller, service: Service, tmp_path: Path) -> None:
    manifest, [path] = tmp_path / "m.jsonl", write_photos(tmp_path, 1)
    many(call, [path], manifest=manifest)
    lines = manifest.read_text().splitlines(keepends=True)
    entry = json.loads(lines[1])
    manifest.write_text(lines[0] + json.dumps({**entry, "at": "2020-01-01T00:00:00.000Z"}) + "\n")
    [task] = service.tasks.values()
    page = {"items": [task], "page": 1, "pageSize": 100, "total": 1, "totalPages": 1, "nextCursor": None}
    service.fail("GET /tasks", lambda exchange: service.data(exchange, page))
    result = many(call, [path], manifest=manifest)[path]
    assert (result.resumed, result.cutout.task_id) == (True, task["id"])
    assert service.sent("GET /tasks")[0].query["startDate"] == "2020-01-01T00:00:00.000Z"
    assert len(service.tasks) == 1


def test_a_hundred_images_of_memory_are_all_processed(call: Caller, service: Service, store: Store) -> None:
    results = many(call, [(str(number), PNG[:500]) for number in range(100)])
    assert len(results) == len(service.tasks) == len(store.objects) == 100
