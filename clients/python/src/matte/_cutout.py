"""Downloaded results."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._generated import Task
from .errors import ConfigError, InputError

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage


# The method `bytes` hides the type of the same name from annotations in its class.
_Bytes = bytes


@dataclass(frozen=True)
class Download:
    """A result in memory."""

    task: Task
    url: str
    content_type: str
    content: bytes


class _Fields:
    def __init__(self, download: Download) -> None:
        self._content = download.content
        self.task = download.task
        self.task_id = download.task["id"]
        #: Valid for 7 days. Read the task again for a new one.
        self.url = download.url
        self.content_type = download.content_type
        self.size_bytes = len(download.content)

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} task_id={self.task_id!r} content_type={self.content_type!r} size_bytes={self.size_bytes}>"


class Cutout(_Fields):
    """A cut-out in memory."""

    def bytes(self) -> _Bytes:
        return self._content

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file whole or not at all. Creates missing folders."""
        save_file(path, self._content)

    def image(self) -> PillowImage:
        """The cut-out as an image of Pillow (`pip install "matte-client[pillow]"`)."""
        return open_image(self._content)


class AsyncCutout(_Fields):
    """A cut-out in memory."""

    async def bytes(self) -> _Bytes:
        return self._content

    async def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file whole or not at all. Creates missing folders."""
        await asyncio.to_thread(save_file, path, self._content)

    async def image(self) -> PillowImage:
        """The cut-out as an image of Pillow (`pip install "matte-client[pillow]"`)."""
        return await asyncio.to_thread(open_image, self._content)


def save_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file beside the target and renames it, so a crash leaves no part of it at the target."""
    target: str = os.fspath(path)
    folder = os.path.dirname(target) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        # A random name: one derived from a long file name can be too long.
        handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise InputError("CLIENT_INPUT", f"The file {target} cannot be written: {error.strerror}.") from error


def _umask() -> int:
    """Only a change of the mask returns it. A thread that creates a file at this moment gets a stricter mode."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def open_image(content: bytes) -> PillowImage:
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigError("CLIENT_CONFIG", 'Pillow is missing. Run pip install "matte-client[pillow]".') from error
    image = Image.open(io.BytesIO(content))
    image.load()
    return image
