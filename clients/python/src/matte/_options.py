"""Inputs, options and results of the public calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Generic, Literal, NamedTuple, Protocol, TypedDict, TypeVar, Union

from .errors import MatteError

T = TypeVar("T")
CutoutType = TypeVar("CutoutType", covariant=True)


class PillowImage(Protocol):
    """An image of Pillow, described without an import: programs without Pillow are type-checked as well."""

    @property
    def mode(self) -> str: ...

    @property
    def size(self) -> tuple[int, int]: ...

    def save(self, fp: Any, format: str | None = None) -> None: ...


#: A path, an http(s) URL that the client fetches, bytes, a binary file object, or an image of Pillow.
ImageInput = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], PillowImage]


class NamedInput(NamedTuple):
    """An input with its own name in the manifest and in the results. A plain tuple works as well."""

    key: str
    input: ImageInput


#: `key` names the input in the manifest and in the results. Default: the path or URL, or the input's number.
ManyInput = Union[ImageInput, NamedInput, "tuple[str, ImageInput]"]


class CancelSignal(Protocol):
    """`threading.Event`, `asyncio.Event`, or any object that says whether the call is canceled."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Progress:
    """Bytes are those of the upload while uploading, and of the result afterwards."""

    state: Literal["uploading", "queued", "processing", "downloading", "done"]
    loaded_bytes: int = 0
    total_bytes: int | None = None
    task_id: str | None = None
    #: The input's key in `remove_backgrounds`.
    key: str | None = None


class Roi(TypedDict):
    """Part of the photo that can be foreground; each value is "Npx" or "N%"."""

    left: str
    top: str
    right: str
    bottom: str


class _ShadowKind(TypedDict):
    kind: Literal["drop", "contact", "cast"]


class Shadow(_ShadowKind, total=False):
    """Shadow under the subject. Each kind has its own defaults."""

    #: Percent, 0 to 100.
    opacity: int
    #: Width of the soft edge: "Npx", or "N%" of the shorter side of the foreground, at most "25%".
    blur: str
    #: Where a drop or cast shadow falls, in degrees clockwise from straight up, 0 to 359.
    angle: int
    #: "#rrggbb".
    color: str
    #: Enlarges the result until it holds the whole shadow.
    grow: bool


class OutputOptions(TypedDict, total=False):
    """Form of the result."""

    format: Literal["png", "webp", "jpeg"]
    #: "transparent", "#rrggbb" or "#rrggbbaa"; "#rgb" and "#rgba" are short forms.
    background: str
    #: Crops to the foreground.
    crop: bool
    #: One, two or four of "Npx" or "N%", separated by spaces.
    crop_margin: str
    #: Scales the longer side down to it, never up.
    max_side: int
    #: "alpha": only the matte, as one grey channel.
    channels: Literal["rgba", "alpha"]
    roi: Roi
    #: "original", or "10%" to "100%" of the result that the foreground fills.
    scale: str
    #: "original", "center" or "X% Y%".
    position: str
    #: Scales down to so many pixels, never up.
    max_pixels: int
    shadow: Shadow


class _CallOptions(OutputOptions, total=False):
    #: Model version. Default: the platform's.
    model: str
    callback_url: str
    #: MIME type of the input. Default: by its first bytes.
    content_type: str
    #: Longest wait for the task in seconds. Default: 600. The task goes on after it.
    wait: float
    #: Cancels the call when set. A task that is still queued is canceled as well.
    cancel: CancelSignal
    on_progress: Callable[[Progress], None]


class RemoveOptions(_CallOptions, total=False):
    """Options of `remove_background`."""

    #: Default: the name of the path, URL or file object.
    file_name: str
    #: Default: made once per call.
    idempotency_key: str


class RemoveManyOptions(_CallOptions, total=False):
    """Options of `remove_backgrounds`."""

    #: Tasks at once. "auto", the default, starts at 4 and follows the limits of the service.
    concurrency: int | Literal["auto"]
    #: File that records each step. A later run with the same inputs continues and pays nothing twice.
    manifest: str | os.PathLike[str]
    #: Inputs that the manifest records as done: "skip", the default, or "download" their results again.
    done: Literal["skip", "download"]


@dataclass(frozen=True)
class ManyResult(Generic[CutoutType]):
    """Outcome of one input: a cut-out or an error."""

    key: str
    cutout: CutoutType | None = None
    error: MatteError | None = None
    #: The task was created by an earlier run.
    resumed: bool = False


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    items: list[T]
    page: int
    page_size: int
    total: int
    total_pages: int
    next_cursor: str | None
    #: There are more records than `total`.
    total_is_minimum: bool = False


#: JSON as the service sends it.
Json = dict[str, Any]
