// Resources of the service as the operations return them.

export type TaskStatus = 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled'

export type Task = {
  id: string
  status: TaskStatus
  modelVersion: string
  sourceUrl: string
  resultUrl: string | null
  creditCost?: number
  durationMs?: number
  createdAt: string
  completedAt: string | null
  batchId: string | null
  callbackUrl: string | null
  failure: { reason: string; message: string; retryable: boolean } | null
  width: number | null
  height: number | null
  resultFormat: string | null
  retryCount: number
  foreground: { top: number; left: number; width: number; height: number } | null
}

export type UploadGrant = {
  uploadUrl: string
  objectKey: string
  method: 'PUT'
  headers: Record<string, string>
  expiresAt: string
  maxFileSize: number
}

export type Page<T> = {
  items: T[]
  page: number
  pageSize: number
  total: number
  totalIsMinimum?: true
  totalPages: number
  nextCursor: string | null
}

export type Output = {
  format?: 'png' | 'webp' | 'jpeg' | (string & {})
  background?: string
  crop?: boolean
  cropMargin?: string
  maxSide?: number
  channels?: 'rgba' | 'alpha'
  roi?: { left: string; top: string; right: string; bottom: string }
  scale?: string
  position?: string
  maxPixels?: number
}

export type TaskRequest = {
  imageUrl: string
  modelVersion?: string
  callbackUrl?: string
  output?: Output
}

export type BatchRequest = Omit<TaskRequest, 'imageUrl'> & { imageUrls: string[] }

export type UploadRequest = { fileName: string; contentType: string; fileSize?: number }

export type BatchSummary = {
  id: string
  status: 'processing' | 'completed'
  totalCount: number
  succeededCount: number
  failedCount: number
  canceledCount: number
  modelVersion: string
  callbackUrl: string | null
  createdAt: string
  completedAt: string | null
}

export type Batch = BatchSummary & { tasks: Task[] }

export type PageQuery = { page?: number; pageSize?: number; cursor?: string }
export type TaskQuery = PageQuery & { status?: TaskStatus; startDate?: string; endDate?: string }
export type DeliveryQuery = PageQuery & {
  status?: DeliveryStatus
  event?: string
  startDate?: string
  endDate?: string
}

export type WebhookEndpoint = {
  id: string
  targetUrl: string
  eventTypes: string[]
  status: 'enabled' | 'disabled'
  disabledReason: string | null
  description: string | null
  createdAt: string
  updatedAt: string
  lastDeliveryAt: string | null
  lastDeliveryStatus: string | null
  pausedSince: string | null
  droppedDeliveries: number
}
export type NewWebhookEndpoint = WebhookEndpoint & { signingSecret?: string }
export type RotatedWebhookEndpoint = WebhookEndpoint & {
  signingSecret: string
  previousSecretExpiresAt: string | null
}
export type WebhookRequest = { targetUrl: string; eventTypes?: string[]; description?: string }
export type WebhookPatch = Partial<WebhookRequest> & { status?: 'enabled' | 'disabled' }
export type Deleted = { id: string; deleted: true }

export type DeliveryStatus = 'pending' | 'delivered' | 'exhausted' | 'canceled' | 'paused'

export type WebhookDelivery = {
  id: string
  event: string
  endpointId: string | null
  taskId: string | null
  batchId: string | null
  targetUrl: string
  status: DeliveryStatus
  requestBody: string
  attemptCount: number
  nextAttemptAt: string | null
  createdAt: string
  completedAt: string | null
  attempts: {
    attempt: number
    endedAt: string
    durationMs: number
    statusCode: number | null
    error: string | null
    responseBody: string | null
  }[]
}
export type RecoverRequest = { since: string; dryRun?: boolean }
export type WebhookRecovery = { since: string; dryRun: boolean; count: number; more: boolean }
export type SigningSecret = { signingSecret: string }

export type ApiKey = {
  id: string
  name: string
  prefix: string
  lastFour: string
  scopes: string[]
  createdAt: string
  expiresAt: string | null
  lastUsedAt: string | null
  revokedAt: string | null
}

type UsageCounts = {
  totalTasks: number
  succeededTasks: number
  failedTasks: number
  creditsConsumed: number
  apiRequests: number
  averageLatencyMs: number
}
export type Usage = UsageCounts & {
  period: { start: string; end: string }
  canceledTasks: number
  errorRate: number
  monthlyQuota: { limit: number | null; used: number; remaining: number | null; resetsAt: string }
  daily: (UsageCounts & { date: string })[]
}

export type Model = {
  modelVersion: string
  default: boolean
  inputSize: number | null
  views: number | null
  licence: string | null
  speed: 'fast' | 'medium' | 'slow' | null
}
