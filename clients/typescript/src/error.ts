import type { ErrorCode, FailureReason } from './generated/api.ts'

/** Codes of errors that the client itself finds. */
export type ClientCode =
  | 'CLIENT_CONNECTION'
  | 'CLIENT_TIMEOUT'
  | 'CLIENT_ABORTED'
  | 'CLIENT_CONFIG'
  | 'CLIENT_INPUT'
  | 'CLIENT_SIGNATURE'

/** A later version of the service may answer with further codes. */
export type MatteCode = ClientCode | ErrorCode | FailureReason | (string & {})

export type MatteErrorFields = {
  readonly status?: number | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly retryable?: boolean | undefined
  readonly docs?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly taskId?: string | undefined
  readonly cause?: unknown
}

/** The only error that the client throws. `code` is stable; `message` is for people and may change. */
export class MatteError extends Error {
  override name = 'MatteError'
  readonly code: MatteCode
  /** HTTP status of the answer; undefined if there was none. */
  readonly status: number | undefined
  readonly details: Readonly<Record<string, unknown>>
  /** Names the request in the logs of the service. */
  readonly requestId: string | undefined
  /** Whether the same call may succeed later. The client has used up its own retries. */
  readonly retryable: boolean
  /** Page that explains the code. */
  readonly docs: string
  /** Wait that the service asks for before the next call. */
  readonly retryAfterMs: number | undefined
  /** The task, if it exists. */
  taskId?: string

  constructor(code: MatteCode, message: string, fields: MatteErrorFields = {}) {
    super(message, { cause: fields.cause })
    this.code = code
    this.status = fields.status
    this.details = fields.details ?? {}
    this.requestId = fields.requestId
    this.retryable = fields.retryable ?? false
    this.docs = fields.docs ?? 'matte-client/README.md#errors'
    this.retryAfterMs = fields.retryAfterMs
    if (fields.taskId !== undefined) this.taskId = fields.taskId
  }
}
