"""Errors of the client. `MatteError.code` is stable; subclasses group codes by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "AuthenticationError",
    "CanceledError",
    "ConfigError",
    "ConflictError",
    "ConnectionError",
    "InputError",
    "InsufficientCreditsError",
    "InvalidParamsError",
    "MatteError",
    "NotFoundError",
    "PermissionDeniedError",
    "QuotaExceededError",
    "RateLimitError",
    "ServerError",
    "SignatureError",
    "TaskFailedError",
    "TimeoutError",
    "make_error",
]

_readme = "matte-client/README.md#errors"


class MatteError(Exception):
    """Base class of all errors that the client raises."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        docs: str | None = None,
        retry_after: float | None = None,
        task_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        #: HTTP status of the response; None if there was none.
        self.status = status
        self.details: Mapping[str, Any] = details or {}
        #: Names the request in the logs of the service.
        self.request_id = request_id
        #: Whether the same call can succeed later. The client has used up its own retries.
        self.retryable = retryable
        #: Page that explains the code.
        self.docs = docs or _readme
        #: Seconds that the service asks the caller to wait.
        self.retry_after = retry_after
        #: The task, if it exists.
        self.task_id = task_id

    def __str__(self) -> str:
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.code}: {self.message}{request}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(code={self.code!r}, message={self.message!r}, status={self.status!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process pools by pickle, which would call __init__ with the message alone.
        return _restore, (type(self), self.code, self.message, self.__dict__)


def _restore(kind: type[MatteError], code: str, message: str, fields: dict[str, Any]) -> MatteError:
    error = kind(code, message)
    error.__dict__.update(fields)
    return error


class ConfigError(MatteError):
    """The API key, the base URL or another setting of the client is wrong."""


class InputError(MatteError):
    """The input cannot be an image of the service. No task was created."""


class ConnectionError(MatteError):
    """There was no response, or it was cut short."""


class TimeoutError(ConnectionError):
    """There was no response in time, or the task was still open at the end of `wait`."""


class CanceledError(MatteError):
    """The caller canceled the call, or the awaited task was canceled."""


class SignatureError(MatteError):
    """A webhook is not signed by any of the secrets, or its time is out of tolerance."""


class AuthenticationError(MatteError):
    """The API key is missing, unknown, expired or revoked."""


class PermissionDeniedError(MatteError):
    """The key or the plan does not allow the operation, or the input belongs to another workspace."""


class InvalidParamsError(MatteError):
    """The service refused the request. `details` names the fields or limits."""


class InsufficientCreditsError(MatteError):
    """The workspace has too few credits."""


class NotFoundError(MatteError):
    """The resource does not exist."""


class ConflictError(MatteError):
    """The state of the resource does not allow the operation."""


class RateLimitError(MatteError):
    """Too many requests, or too many open tasks. `retry_after` has the seconds to wait."""


class QuotaExceededError(MatteError):
    """The monthly quota is used up. `details["resetsAt"]` has the time of the next month."""


class ServerError(MatteError):
    """The service failed, or it is under maintenance."""


class TaskFailedError(MatteError):
    """The task failed. `code` is the reason and `task_id` the task."""


_kinds: dict[str, type[MatteError]] = {
    "CLIENT_CONNECTION": ConnectionError,
    "CLIENT_TIMEOUT": TimeoutError,
    "CLIENT_ABORTED": CanceledError,
    "CLIENT_CONFIG": ConfigError,
    "CLIENT_INPUT": InputError,
    "CLIENT_SIGNATURE": SignatureError,
    "INVALID_PARAMS": InvalidParamsError,
    "API_KEY_MISSING": AuthenticationError,
    "API_KEY_INVALID": AuthenticationError,
    "AUTH_INVALID_TOKEN": AuthenticationError,
    "CREDITS_INSUFFICIENT": InsufficientCreditsError,
    "API_KEY_INSUFFICIENT_SCOPE": PermissionDeniedError,
    "AUTH_FORBIDDEN": PermissionDeniedError,
    "DEVELOPER_API_ACCESS_DENIED": PermissionDeniedError,
    "TASK_INPUT_FORBIDDEN": PermissionDeniedError,
    "TASK_BATCH_DISABLED": InvalidParamsError,
    "TASK_BATCH_NOT_SUPPORTED": PermissionDeniedError,
    "TASK_BATCH_SIZE_EXCEEDED": InvalidParamsError,
    "TASK_FILE_SIZE_EXCEEDED": InvalidParamsError,
    "TASK_FORMAT_NOT_SUPPORTED": InvalidParamsError,
    "TASK_OUTPUT_FORMAT_NOT_SUPPORTED": InvalidParamsError,
    "TASK_CONCURRENT_LIMIT": RateLimitError,
    "TASK_NOT_RETRYABLE": ConflictError,
    "TASK_RETRY_LIMIT_EXCEEDED": ConflictError,
    "TASK_CANNOT_CANCEL": ConflictError,
    "CONFLICT": ConflictError,
    "DEVELOPER_TASK_NOT_FOUND": NotFoundError,
    "DEVELOPER_BATCH_NOT_FOUND": NotFoundError,
    "NOT_FOUND": NotFoundError,
    "RATE_LIMIT_EXCEEDED": RateLimitError,
    "DEVELOPER_API_QUOTA_EXCEEDED": QuotaExceededError,
    "TASK_MAINTENANCE": ServerError,
    "TASK_STORAGE_UNAVAILABLE": ServerError,
    "SYSTEM_INTERNAL_ERROR": ServerError,
    "INPUT_UNREADABLE": TaskFailedError,
    "INPUT_TOO_LARGE": TaskFailedError,
    "INPUT_CHANGED": TaskFailedError,
    "INPUT_MISSING": TaskFailedError,
    "INFERENCE_ERROR": TaskFailedError,
    "INFERENCE_TIMEOUT": TaskFailedError,
    "STORAGE_ERROR": TaskFailedError,
    "INTERNAL": TaskFailedError,
}


def make_error(code: str, message: str, **fields: Any) -> MatteError:
    """An error of the class for `code`. A later version of the service may send further codes."""
    status = fields.get("status")
    unknown = ServerError if isinstance(status, int) and status >= 500 else MatteError
    return _kinds.get(code, unknown)(code, message, **fields)
