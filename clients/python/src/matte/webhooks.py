"""Verification of webhooks.

`X-Service-Signature` is keyed by the whole secret, `whsec_` included. The headers of Standard Webhooks are keyed by the
bytes of its base64 part. One valid signature of either kind is enough: during a rotation the first still has the old
secret, the second both.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, Union, cast

from . import _generated as generated
from .errors import ConfigError, SignatureError

__all__ = ["WebhookEvent", "verify"]

#: The body of a webhook. A comparison of `event["event"]` narrows it to one kind.
WebhookEvent = Union[
    generated.TaskSucceededEvent,
    generated.TaskFailedEvent,
    generated.TaskRetentionCleanupEvent,
    generated.BatchCompletedEvent,
    generated.CreditsLowBalanceEvent,
    generated.CreditsRefundedEvent,
    generated.CreditsPackPurchasedEvent,
    generated.CreditsExpirationWarningEvent,
    generated.PaymentSucceededEvent,
    generated.PaymentFailedEvent,
    generated.RefundSucceededEvent,
    generated.SubscriptionUpdatedEvent,
    generated.SubscriptionCanceledEvent,
    generated.SubscriptionRenewedEvent,
    generated.ReferralRewardEvent,
    generated.TeamInvitationEvent,
    generated.WelcomeEvent,
    generated.SecurityPasswordChangedEvent,
    generated.SecurityMfaEnabledEvent,
    generated.SecurityMfaDisabledEvent,
    generated.TestWebhookEvent,
]

_service_pattern = re.compile(r"t=([0-9]{1,15}),v1=((?:[0-9a-f]{2})+)")
_seconds_pattern = re.compile(r"[0-9]{1,15}")


class _Items(Protocol):
    def items(self) -> Iterable[tuple[Any, Any]]: ...


class _Signed(NamedTuple):
    seconds: int
    prefix: bytes
    signature: bytes
    is_standard: bool


def verify(
    raw_body: bytes | bytearray | memoryview | str,
    headers: Mapping[str, Any] | _Items,
    secret: str | Iterable[str] | None,
    *,
    tolerance: float = 300,
    now: Callable[[], float] = time.time,
) -> WebhookEvent:
    """Returns the event if one of the secrets signed the request.

    `raw_body` is the body as it arrived: parsing and writing it again changes its bytes. `headers` are those of any
    framework, names in any case. Pass several secrets during a rotation. `tolerance` is the largest difference between
    the clocks in seconds, in both directions. Raises `SignatureError`, and `ConfigError` without a secret.
    """
    body = _to_bytes(raw_body)
    secrets = _read_secrets(secret)
    signed = list(_read_signatures(headers))
    if not signed:
        raise _refused("The request has no valid X-Service-Signature or webhook-signature header.")
    valid = [each for each in signed if _is_signed_by_any(each, body, secrets)]
    if not valid:
        raise _refused("No secret matches the signature. Check the secret, and pass the body as it arrived.")
    if not any(abs(now() - each.seconds) <= tolerance for each in valid):
        raise _refused(f"The signature is older or newer than {tolerance:g} s. Check the clock of this machine.")
    return _parse(body)


def _refused(message: str) -> SignatureError:
    return SignatureError("CLIENT_SIGNATURE", message)


def _to_bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", body))
    raise _refused("Pass the raw bytes of the body and not a parsed object: parsing changes them.")


def _read_secrets(secret: str | Iterable[str] | None) -> list[str]:
    secrets = [secret] if isinstance(secret, str) else list(secret or [])
    if not any(secrets):
        raise ConfigError("CLIENT_CONFIG", "The signing secret is empty.")
    return [each for each in secrets if each]


def _read_signatures(headers: Mapping[str, Any] | _Items) -> Iterator[_Signed]:
    values = {_to_text(name).lower(): _to_text(value) for name, value in headers.items()}
    service = _service_pattern.fullmatch(values.get("x-service-signature", ""))
    if service:
        seconds, signature = service.groups()
        yield _Signed(int(seconds), f"{seconds}.".encode(), bytes.fromhex(signature), is_standard=False)
    message_id, at = values.get("webhook-id", ""), values.get("webhook-timestamp", "")
    if not message_id or not _seconds_pattern.fullmatch(at):
        return
    for text in values.get("webhook-signature", "").split(" "):
        signature = _from_base64(text[3:]) if text.startswith("v1,") else b""
        if signature:
            yield _Signed(int(at), f"{message_id}.{at}.".encode(), signature, is_standard=True)


def _to_text(value: object) -> str:
    """Headers of ASGI are bytes, those of some frameworks lists."""
    if isinstance(value, (list, tuple)):
        return ", ".join(_to_text(each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _is_signed_by_any(signed: _Signed, body: bytes, secrets: list[str]) -> bool:
    valid = False
    for secret in secrets:
        key = _from_base64(secret.removeprefix("whsec_")) if signed.is_standard else secret.encode()
        expected = hmac.new(key, signed.prefix + body, hashlib.sha256).digest()
        # compare_digest takes the same time wherever the bytes differ.
        valid = (hmac.compare_digest(expected, signed.signature) and key != b"") or valid
    return valid


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _parse(body: bytes) -> WebhookEvent:
    try:
        event = json.loads(body)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise _refused("The signature is right, and the body is not a JSON object.")
    return cast("WebhookEvent", event)
