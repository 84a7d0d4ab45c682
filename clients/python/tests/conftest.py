from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import Caller, Service, Store, serve


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store()
    with serve(store):
        yield store


@pytest.fixture
def service(store: Store) -> Iterator[Service]:
    service = Service(store)
    with serve(service):
        yield service


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest, service: Service) -> Caller:
    return Caller(request.param, service)
