"""Manifest of many images: an append-only file of JSON lines, the last line of a key in force.

`creating`  written before the creation is sent. After a crash the same body with the same key gives the same task.
`created`   the task exists.
`done`      the caller has taken the result.

A crash can tear the last line. Its step has not begun, because each step waits until its line is on the disk. The
format is that of the TypeScript client, so either client can continue a run of the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import IO, Any, Literal

from ._options import Json
from ._transport import to_json
from .errors import ConfigError

_header = to_json({"matte": "manifest", "version": 1})


@dataclass(frozen=True)
class Entry:
    key: str
    #: Fingerprint of image and options: others make a new task.
    input: str
    state: Literal["creating", "created", "done"]
    idempotency_key: str
    object_key: str
    #: Time at which the creation was first sent, in ISO 8601.
    at: str
    task_id: str | None = None


class Manifest:
    """Open manifest. Its methods block, and may be called by several threads."""

    def __init__(self, file: IO[bytes], text: str) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._entries = parse_manifest(text)
        if text != _header and not text.startswith(f"{_header}\n"):
            self._append(f"{_header[len(text) :]}\n")
        elif not text.endswith("\n"):
            self._append("\n")

    def find(self, key: str, input: str) -> Entry | None:
        entry = self._entries.get(key)
        return entry if entry is not None and entry.input == input else None

    def record(self, entry: Entry) -> None:
        """Returns when the line is on the disk."""
        with self._lock:
            self._entries[entry.key] = entry
            self._append(f"{_to_line(entry)}\n")

    def close(self) -> None:
        self._file.close()

    def _append(self, text: str) -> None:
        self._file.write(text.encode())
        self._file.flush()
        os.fsync(self._file.fileno())


def open_manifest(path: str | os.PathLike[str]) -> Manifest:
    try:
        # The manifest names tasks, so only its owner reads it.
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise _invalid(f"The manifest {os.fspath(path)} cannot be opened: {error.strerror}.") from error
    file = open(handle, "r+b")  # noqa: SIM115 - Manifest.close closes it
    try:
        return Manifest(file, file.read().decode(errors="replace"))
    except BaseException:
        file.close()
        raise


def parse_manifest(text: str) -> dict[str, Entry]:
    first, *lines = text.split("\n")
    # A crash during the first write leaves a part of the header.
    is_torn = not lines and _header.startswith(first)
    if first != _header and not is_torn:
        raise _invalid("The manifest is a file of another kind. Name a new file.")
    entries = (_parse_line(line) for line in lines)
    return {entry.key: entry for entry in entries if entry is not None}


def fingerprint(source: str, request: Json) -> str:
    return hashlib.sha256(f"{source} {to_json(request)}".encode()).hexdigest()


def to_done(entry: Entry) -> Entry:
    return replace(entry, state="done")


def _invalid(message: str) -> ConfigError:
    return ConfigError("CLIENT_CONFIG", message)


def _to_line(entry: Entry) -> str:
    fields = {
        "key": entry.key,
        "input": entry.input,
        "state": entry.state,
        "idempotencyKey": entry.idempotency_key,
        "objectKey": entry.object_key,
        "at": entry.at,
    }
    return to_json(fields if entry.task_id is None else {**fields, "taskId": entry.task_id})


def _parse_line(line: str) -> Entry | None:
    try:
        fields: Any = json.loads(line)
        entry = Entry(
            key=fields["key"],
            input=fields["input"],
            state=fields["state"],
            idempotency_key=fields["idempotencyKey"],
            object_key=fields["objectKey"],
            at=fields["at"],
            task_id=fields.get("taskId"),
        )
        to_time(entry.at)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return entry


def to_text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
