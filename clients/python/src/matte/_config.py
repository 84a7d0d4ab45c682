"""Settings of a client, checked once."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ._io import user_agent as build_user_agent
from .errors import ConfigError

_example = "such as https://matte.example.com/api/v1"


@dataclass(frozen=True)
class Config:
    #: Never part of a text, an error or a log line.
    api_key: str = field(repr=False)
    #: Without a slash at its end.
    base_url: str
    timeout: float
    retries_max: int
    user_agent: str

    @property
    def origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"


def read_config(
    api_key: str | None, base_url: str | None, *, timeout: float, retries_max: int, user_agent: str | None
) -> Config:
    if not (_is_number(timeout) and timeout > 0):
        raise invalid("`timeout` must be a number of seconds, more than 0.")
    if not (_is_number(retries_max) and retries_max == int(retries_max) and retries_max >= 0):
        raise invalid("`retries_max` must be an integer from 0.")
    return Config(
        api_key=_read_key(os.environ.get("MATTE_API_KEY") if api_key is None else api_key),
        base_url=_read_base_url(os.environ.get("MATTE_BASE_URL") if base_url is None else base_url),
        timeout=timeout,
        retries_max=int(retries_max),
        user_agent=build_user_agent(user_agent),
    )


def invalid(message: str) -> ConfigError:
    return ConfigError("CLIENT_CONFIG", message)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _read_key(text: str | None) -> str:
    key = (text or "").strip()
    if not key:
        raise invalid("There is no API key. Pass `api_key`, or set MATTE_API_KEY.")
    if not (key.isascii() and key.isprintable()):
        raise invalid("The API key has characters that no key has. Copy it again.")
    return key


def _read_base_url(text: str | None) -> str:
    if not text:
        raise invalid(f"There is no address of the service. Pass `base_url`, or set MATTE_BASE_URL, {_example}.")
    url = text.strip()
    if not _is_base_url(url):
        raise invalid(f"The base URL must be an http or https URL without user, query and fragment, {_example}.")
    if urlsplit(url).path.strip("/") == "":
        raise invalid(f"The base URL must end in the version path, {_example}.")
    return url.rstrip("/")


def _is_base_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and port_is_valid
    return is_http and not (parts.query or parts.fragment or "@" in parts.netloc or " " in url)
