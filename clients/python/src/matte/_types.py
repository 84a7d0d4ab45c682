"""Records of the service as its operations return them: dictionaries with the names of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

TaskStatus = Literal["queued", "processing", "succeeded", "failed", "canceled"]
DeliveryStatus = Literal["pending", "delivered", "exhausted", "canceled", "paused"]


class Failure(TypedDict):
    reason: str
    message: str
    retryable: bool


class Foreground(TypedDict):
    top: int
    left: int
    width: int
    height: int


class Task(TypedDict):
    id: str
    status: TaskStatus
    modelVersion: str
    sourceUrl: str
    resultUrl: str | None
    creditCost: NotRequired[int]
    durationMs: NotRequired[int]
    createdAt: str
    completedAt: str | None
    batchId: str | None
    callbackUrl: str | None
    failure: Failure | None
    width: int | None
    height: int | None
    resultFormat: str | None
    retryCount: int
    foreground: Foreground | None


class UploadGrant(TypedDict):
    uploadUrl: str
    objectKey: str
    method: Literal["PUT"]
    headers: dict[str, str]
    expiresAt: str
    maxFileSize: int


class BatchSummary(TypedDict):
    id: str
    status: Literal["processing", "completed"]
    totalCount: int
    succeededCount: int
    failedCount: int
    canceledCount: int
    modelVersion: str
    callbackUrl: str | None
    createdAt: str
    completedAt: str | None


class Batch(BatchSummary):
    tasks: list[Task]


class WebhookEndpoint(TypedDict):
    id: str
    targetUrl: str
    eventTypes: list[str]
    status: Literal["enabled", "disabled"]
    disabledReason: str | None
    description: str | None
    createdAt: str
    updatedAt: str
    lastDeliveryAt: str | None
    lastDeliveryStatus: str | None
    pausedSince: str | None
    droppedDeliveries: int


class NewWebhookEndpoint(WebhookEndpoint):
    signingSecret: NotRequired[str]


class RotatedWebhookEndpoint(WebhookEndpoint):
    signingSecret: str
    previousSecretExpiresAt: str | None


class Deleted(TypedDict):
    id: str
    deleted: Literal[True]


class Attempt(TypedDict):
    attempt: int
    endedAt: str
    durationMs: int
    statusCode: int | None
    error: str | None
    responseBody: str | None


class Delivery(TypedDict):
    id: str
    event: str
    endpointId: str | None
    taskId: str | None
    batchId: str | None
    targetUrl: str
    status: DeliveryStatus
    requestBody: str
    attemptCount: int
    nextAttemptAt: str | None
    createdAt: str
    completedAt: str | None
    attempts: list[Attempt]


class WebhookRecovery(TypedDict):
    since: str
    dryRun: bool
    count: int
    more: bool


class SigningSecret(TypedDict):
    signingSecret: str


class ApiKey(TypedDict):
    id: str
    name: str
    prefix: str
    lastFour: str
    scopes: list[str]
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedAt: str | None


class Period(TypedDict):
    start: str
    end: str


class MonthlyQuota(TypedDict):
    limit: int | None
    used: int
    remaining: int | None
    resetsAt: str


class Usage(TypedDict):
    period: Period
    totalTasks: int
    succeededTasks: int
    failedTasks: int
    canceledTasks: int
    creditsConsumed: int
    apiRequests: int
    averageLatencyMs: int
    errorRate: float
    monthlyQuota: MonthlyQuota
    daily: list[dict[str, Any]]


class Model(TypedDict):
    modelVersion: str
    default: bool
    inputSize: int | None
    views: int | None
    licence: str | None
    speed: Literal["fast", "medium", "slow"] | None
