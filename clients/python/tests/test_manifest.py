from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from matte import ConfigError
from matte._input import _to_ms
from matte._manifest import Entry, fingerprint, open_manifest, parse_manifest, to_done
from matte._remove import build_request

HEADER = '{"matte":"manifest","version":1}'
LINE = (
    '{"key":"ä.png","input":"f0","state":"created","idempotencyKey":"k-1",'
    '"objectKey":"private-uploads/1","at":"2026-11-21T09:30:00.000Z","taskId":"t-1"}'
)
ENTRY = Entry("ä.png", "f0", "created", "k-1", "private-uploads/1", "2026-11-21T09:30:00.000Z", "t-1")


def test_a_manifest_has_the_lines_of_the_typescript_client(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    manifest = open_manifest(path)
    manifest.record(ENTRY)
    manifest.close()
    assert path.read_text(encoding="utf-8") == f"{HEADER}\n{LINE}\n"
    assert parse_manifest(path.read_text(encoding="utf-8")) == {"ä.png": ENTRY}


def test_only_the_owner_reads_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    open_manifest(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_last_line_of_a_key_is_in_force_across_runs(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    first = open_manifest(path)
    first.record(ENTRY)
    first.record(to_done(ENTRY))
    first.close()
    second = open_manifest(path)
    found = second.find("ä.png", "f0")
    assert found is not None
    assert found.state == "done"
    assert second.find("ä.png", "other") is None
    second.close()


@pytest.mark.parametrize("torn", ["", HEADER[:7], HEADER, f"{HEADER}\n", f"{HEADER}\n{LINE}", f"{HEADER}\n{LINE}\n"])
@pytest.mark.parametrize("rest", ["", LINE[:20]])
def test_a_torn_line_is_skipped_and_the_next_one_is_whole(tmp_path: Path, torn: str, rest: str) -> None:
    path = tmp_path / "manifest.jsonl"
    text = f"{torn}{rest}" if torn.endswith("\n") else torn
    path.write_text(text, encoding="utf-8")
    manifest = open_manifest(path)
    manifest.record(Entry("b.png", "f1", "creating", "k-2", "private-uploads/2", "2026-11-21T09:30:00.000Z"))
    manifest.close()
    entries = parse_manifest(path.read_text(encoding="utf-8"))
    assert ("ä.png" in entries) == (LINE in torn)
    assert entries["b.png"].idempotency_key == "k-2"


@pytest.mark.parametrize("line", ["{}", "7", "null", '{"key":"a"}', LINE.replace("2026-11-21T09:30:00.000Z", "once")])
def test_a_line_of_another_shape_is_skipped(line: str) -> None:
    assert parse_manifest(f"{HEADER}\n{line}\n") == {}


def test_a_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="another kind"):
        open_manifest(path)
    assert path.read_text(encoding="utf-8") == "shopping list\n"


def test_a_manifest_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        open_manifest(os.fspath(tmp_path / "missing" / "manifest.jsonl"))


def test_a_fingerprint_is_that_of_the_typescript_client() -> None:
    options = {"max_side": 512, "format": "webp", "model": "service-v2", "crop": True}
    request = build_request(options)  # type: ignore[arg-type]
    assert list(request) == ["modelVersion", "output"]
    assert list(request["output"]) == ["format", "crop", "maxSide"]
    text = '123-1795253400123.4567 {"modelVersion":"service-v2","output":{"format":"webp","crop":true,"maxSide":512}}'
    import hashlib

    assert fingerprint("123-1795253400123.4567", request) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (1_795_253_400_000_000_000, "1795253400000"),
        (1_795_253_400_123_000_000, "1795253400123"),
        (1_795_253_400_123_456_700, "1795253400123.4568"),
        (1_795_253_400_500_000_000, "1795253400500"),
        (0, "0"),
    ],
)
def test_times_of_files_are_written_as_javascript_writes_them(ns: int, text: str) -> None:
    assert _to_ms(ns) == text
