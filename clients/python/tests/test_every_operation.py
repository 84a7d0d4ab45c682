"""Both clients have a method for each operation of the Developer API; `make gen` writes operations.json."""

from __future__ import annotations

import contextlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support import Caller, Service

from matte import Matte

#: Operations without a method, and how a program calls them instead.
WITHOUT_METHOD = {
    "streamWebhooks": "It never ends: `matte webhooks listen` reads it.",
}


def methods() -> Iterator[tuple[str, str]]:
    client = Matte("key", "http://a.example/api/v1")
    for group, owner in vars(client).items():
        if not group.startswith("_"):
            yield from ((group, name) for name, _ in inspect.getmembers(owner, callable) if not name.startswith("_"))


def call_with_x(group: str, name: str) -> Callable[[Any], Any]:
    """Calls the method with `x` for each argument without a default."""

    def send(client: Any) -> Any:
        method = getattr(getattr(client, group), name)
        required = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty]
        arguments = ["x" for each in required if each.kind is each.POSITIONAL_OR_KEYWORD]
        named = {each.name: "x" for each in required if each.kind is each.KEYWORD_ONLY}
        result = method(*arguments, **named)
        return result.page() if hasattr(result, "page") else result

    return send


def test_each_operation_has_a_method_and_each_method_an_operation(call: Caller, service: Service) -> None:
    for group, name in methods():
        # A method may fail after its request.
        with contextlib.suppress(Exception):
            call(call_with_x(group, name))
    # The only method whose request has an image.
    with contextlib.suppress(Exception):
        call(lambda client: client.tasks.cut_out(b"\x89PNG"))
    sent = {f"{each.method} {each.path.removeprefix('/api/v1')}" for each in service.requests}
    operations = json.loads((Path(__file__).parent / "operations.json").read_text())
    wanted = {re.sub(r"\{\w+\}", "x", each) for id, each in operations.items() if id not in WITHOUT_METHOD}
    assert sent == wanted
    assert operations.keys() >= WITHOUT_METHOD.keys()
