// Client of the public API, written from the interface document only.

export type Answer<T = unknown> = {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string
  readonly data: T
}

/** Error of the API, `error` in the envelope. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly details: Record<string, unknown>
  readonly headers: Headers
  constructor(status: number, headers: Headers, body: ErrorBody) {
    super(`${status} ${body.error.code}: ${body.error.message}`)
    this.status = status
    this.code = body.error.code
    this.details = body.error.details
    this.headers = headers
  }
}

type ErrorBody = { error: { code: string; message: string; details: Record<string, unknown> } }

export type Task = {
  readonly id: string
  readonly status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled'
  readonly modelVersion: string
  readonly sourceUrl: string
  readonly resultUrl: string | null
  readonly creditCost?: number
  readonly durationMs?: number
  readonly createdAt: string
  readonly completedAt: string | null
  readonly callbackUrl: string | null
  readonly failure: { reason: string; message: string; retryable: boolean } | null
  readonly width: number | null
  readonly height: number | null
  readonly resultFormat: string | null
  readonly retryCount: number
  readonly retention: number | null
  readonly erasedAt: string | null
  readonly foreground: { top: number; left: number; width: number; height: number } | null
  readonly confidence?: number
}

export type Grant = {
  readonly uploadUrl: string
  readonly objectKey: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly expiresAt: string
  readonly maxFileSize: number
}

export type TaskPage = {
  readonly items: Task[]
  readonly page: number
  readonly pageSize: number
  readonly total: number
  readonly totalIsMinimum?: true
  readonly totalPages: number
  readonly nextCursor: string | null
}

export type Client = {
  /** Sends any request below `/api/v1/open/developer`. @throws ApiError */
  call<T = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
  presign(body: Record<string, unknown>): Promise<Grant>
  /** Presigns and uploads; returns the object key. */
  upload(bytes: Uint8Array, options?: { contentType?: string; fileName?: string }): Promise<string>
  createTask(body: Record<string, unknown>): Promise<Task>
  getTask(id: string): Promise<Task>
  listTasks(query?: Record<string, string>): Promise<TaskPage>
  cancelTask(id: string): Promise<Task>
  signingSecret(): Promise<string>
}

export type CallOptions = { readonly body?: unknown; readonly headers?: Record<string, string> }

export function createClient(origin: string, apiKey: string): Client {
  async function call<T>(method: string, path: string, { body, headers = {} }: CallOptions = {}): Promise<Answer<T>> {
    const response = await fetch(`${origin}/api/v1/open/developer${path}`, {
      method,
      headers: { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { request_id: string; data: T } & ErrorBody
    if (!response.ok) throw new ApiError(response.status, response.headers, answer)
    return { status: response.status, headers: response.headers, requestId: answer.request_id, data: answer.data }
  }
  const dataOf = async <T>(answer: Promise<Answer<T>>): Promise<T> => (await answer).data

  const presign = (body: Record<string, unknown>): Promise<Grant> =>
    dataOf(call<Grant>('POST', '/uploads/presign', { body }))
  return {
    call,
    presign,
    upload: async (bytes, { contentType = 'image/png', fileName = 'photo.png' } = {}) => {
      const fileSize = bytes.length || null // an empty file announces no size
      const grant = await presign({ fileName, contentType, fileSize })
      await put(grant, bytes)
      return grant.objectKey
    },
    createTask: (body) => dataOf(call<Task>('POST', '/tasks', { body })),
    getTask: (id) => dataOf(call<Task>('GET', `/tasks/${id}`)),
    listTasks: (query = {}) => dataOf(call<TaskPage>('GET', `/tasks?${new URLSearchParams(query)}`)),
    cancelTask: (id) => dataOf(call<Task>('DELETE', `/tasks/${id}`)),
    signingSecret: async () => (await call<{ signingSecret: string }>('GET', '/signing-secret')).data.signingSecret,
  }
}

/** Uploads as a grant describes. @throws Error with the store's response */
export async function put({ uploadUrl, method, headers }: Grant, bytes: Uint8Array): Promise<void> {
  const response = await fetch(uploadUrl, { method, headers, body: Buffer.from(bytes) })
  if (!response.ok) throw new Error(`PUT was answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}
