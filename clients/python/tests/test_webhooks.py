from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

import pytest

import matte
from matte import ConfigError, Matte, SignatureError, verify_webhook

SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIzNA=="
OLD = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkIQ=="
BODY = b'{"event":"task.succeeded","task_id":"0d9f","message":"Fertig \xc3\xa4"}'
AT = 1_795_253_400


def service_header(secret: str = SECRET, body: bytes = BODY, at: int = AT) -> str:
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def standard_signature(secret: str = SECRET, body: bytes = BODY, at: int = AT) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"msg-1.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def standard(signatures: str, at: int = AT) -> dict[str, str]:
    return {"webhook-id": "msg-1", "webhook-timestamp": str(at), "webhook-signature": signatures}


def verify(headers: Mapping[str, Any], secret: Any = SECRET, body: Any = BODY, **options: Any) -> dict[str, Any]:
    return verify_webhook(body, headers, secret, **{"now": lambda: AT + 10.0, **options})


def test_a_known_vector_verifies() -> None:
    assert verify({"X-Service-Signature": service_header()}) == json.loads(BODY)


def test_the_client_and_the_module_have_the_same_function() -> None:
    client = Matte("key", "http://127.0.0.1/api/v1")
    assert client.webhooks.verify is matte.webhooks.verify is verify_webhook
    client.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Service-Signature": service_header()},
        {"x-service-signature": service_header()},
        {b"x-service-signature": service_header().encode()},
        {"X-Service-Signature": [service_header()]},
        standard(standard_signature()),
        {name.title(): value for name, value in standard(standard_signature()).items()},
        standard(f"v1,{base64.b64encode(b'x' * 32).decode()} {standard_signature()}"),
        standard(f"v1a,{base64.b64encode(b'x' * 32).decode()} {standard_signature()}"),
        {"X-Service-Signature": service_header(OLD), **standard(f"{standard_signature()} {standard_signature(OLD)}")},
    ],
)
def test_valid_signatures_of_both_kinds_verify(headers: dict[Any, Any]) -> None:
    assert verify(headers)["event"] == "task.succeeded"


def test_each_of_several_secrets_verifies_during_a_rotation() -> None:
    headers = {"X-Service-Signature": service_header(OLD)}
    assert verify(headers, [SECRET, OLD])["event"] == "task.succeeded"
    with pytest.raises(SignatureError, match="No secret matches"):
        verify(headers, [SECRET])


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda body: body.decode()])
def test_the_body_is_taken_as_bytes_or_text(kind: Any) -> None:
    assert verify({"X-Service-Signature": service_header()}, body=kind(BODY))["task_id"] == "0d9f"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Service-Signature": ""},
        {"X-Service-Signature": "t=1,v1=zz"},
        {"X-Service-Signature": service_header().upper()},
        {"X-Service-Signature": f"{service_header()},v1=00"},
        {"X-Service-Signature": f"{service_header()}\n"},
        {"X-Service-Signature": service_header()[:-1]},
        {**standard(standard_signature()), "webhook-id": ""},
        {**standard(standard_signature()), "webhook-timestamp": "now"},
        standard("v1,"),
        standard("v1,%%%"),
        standard(standard_signature()[3:]),
    ],
)
def test_missing_and_malformed_headers_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureError) as caught:
        verify(headers)
    assert (caught.value.code, caught.value.retryable) == ("CLIENT_SIGNATURE", False)


@pytest.mark.parametrize("headers", [{"X-Service-Signature": service_header()}, standard(standard_signature())])
def test_another_body_secret_or_id_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        verify(headers, body=BODY + b" ")
    with pytest.raises(SignatureError):
        verify(headers, OLD)
    with pytest.raises(SignatureError):
        verify({**standard(standard_signature()), "webhook-id": "msg-2"})


@pytest.mark.parametrize("skew", [-301.0, 301.0])
def test_a_signature_out_of_tolerance_is_refused_in_both_directions(skew: float) -> None:
    headers = {"X-Service-Signature": service_header()}
    with pytest.raises(SignatureError, match="older or newer than 300 s"):
        verify(headers, now=lambda: AT + skew)
    assert verify(headers, now=lambda: AT + skew, tolerance=302)
    assert verify(headers, now=lambda: AT + skew / 301 * 300)


def test_an_old_signature_does_not_gain_by_the_time_of_another_header() -> None:
    forged = standard(standard_signature(OLD, at=AT + 10_000), at=AT + 10_000)
    with pytest.raises(SignatureError, match="older or newer"):
        verify({"X-Service-Signature": service_header(), **forged}, now=lambda: AT + 10_000.0)


def test_a_parsed_body_and_a_signed_text_are_refused_with_a_reason() -> None:
    with pytest.raises(SignatureError, match="raw bytes"):
        verify({"X-Service-Signature": service_header()}, body=json.loads(BODY))
    with pytest.raises(SignatureError, match="not a JSON object"):
        verify({"X-Service-Signature": service_header(body=b"[]")}, body=b"[]")


@pytest.mark.parametrize("secret", [None, "", [], [""]])
def test_an_empty_secret_is_refused_as_configuration(secret: Any) -> None:
    with pytest.raises(ConfigError, match="empty"):
        verify({"X-Service-Signature": service_header("")}, secret)
