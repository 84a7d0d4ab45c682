import type { ColumnType, Generated, JSONColumnType } from 'kysely'

export type Foreground = { top: number; left: number; width: number; height: number }

/** Result format with defaults filled in; `task/output.ts` documents the members. */
export type Output = {
  format: 'png' | 'webp' | 'jpeg'
  /** `transparent`, `#rrggbb` or `#rrggbbaa`, in lower case. */
  background: string
  crop: boolean
  cropMargin: string
  maxSide: number | null
  maxPixels: number | null
  channels: 'rgba' | 'alpha'
  roi: Region | null
  /** `original` or a percentage. */
  scale: string
  /** `original`, `center`, or two percentages. */
  position: string
  shadow: Shadow | null
  /**
   * Wish of a door: `hard` has only the values 0 and 255, except in a shadow; `kept` stays in the file although it is
   * opaque.
   */
  alpha?: 'hard' | 'kept'
}

/** Drawn under the subject and over the background. */
export type Shadow = {
  kind: 'drop' | 'contact' | 'cast'
  /** Percent. */
  opacity: number
  /** Width of the soft edge as pixels (`20px`) or as a percentage of the shorter side of the foreground's box. */
  blur: string
  /** Degrees clockwise from straight up: where a drop or cast shadow falls. */
  angle: number
  /** `#rrggbb` in lower case. */
  color: string
  /** The canvas grows until it holds the whole shadow. */
  grow: boolean
}

/** Applied by the worker to the cut-out that `output` describes. */
export type DoorWish =
  /** A ZIP of colours and matte beside the result. */
  | { readonly kind: 'parts' }
  /** Replaces the transparency by this object, scaled and cropped to fill the result. */
  | { readonly kind: 'background'; readonly objectKey: string; readonly etag: string; readonly sizeBytes: number }

/** Edges as pixels (`20px`) or percentages (`5%`) of the photo's width or height, from its left and top. */
export type Region = { left: string; top: string; right: string; bottom: string }

export type TaskTable = {
  id: Generated<string>
  workspace_id: string
  batch_id: string | null
  status: Generated<'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled'>
  /** 1, 2, …; a caller's retry starts the next run. */
  run: Generated<number>
  /** As shown to the caller; workers claim the versions that their pods serve. */
  model_version: string
  upload_id: string
  source_key: string
  /** ETag at creation: a different object fails the run with INPUT_CHANGED. */
  source_etag: string
  source_size_bytes: number
  callback_url: string | null
  /** Rows of earlier releases lack later members, see `completeOutput` in `task/output.ts`. */
  output: JSONColumnType<Partial<Output> | null, string | null, string | null>
  /** Wishes of the doors that the interface does not have; null for other tasks. */
  door: JSONColumnType<DoorWish | null, string | null, string | null>
  credit_cost: number
  retry_count: Generated<number>
  /** Attempts in this run; an unavailable pod does not use one. */
  attempt: Generated<number>
  claim: string | null
  claimed_until: Date | null
  /** Earliest next claim while processing without a live claim. */
  due_at: Generated<Date>
  /** Start of the wait; `tasks.maxQueueAge` counts from here. */
  queued_at: Generated<Date>
  started_at: Date | null
  completed_at: Date | null
  failure_reason: string | null
  failure_message: string | null
  result_key: string | null
  result_format: string | null
  result_size_bytes: number | null
  width: number | null
  height: number | null
  foreground: JSONColumnType<Foreground | null, string | null, string | null>
  /** 0 to 1 in steps of 0.01, on succeeded tasks; null if the model gives no measure, and before migration 0058. */
  confidence: number | null
  /**
   * `if_subject`: a success without a subject releases its credit, and its end writes `none`. Null: every success is
   * charged.
   */
  charge: 'if_subject' | 'none' | null
  /** Attempts that fail on purpose, set by `matte-admin fault inference` outside production. */
  fault_attempts: Generated<number>
  /** 'due' when attempts are exhausted, 'done' after the message to the dead-letter stream. */
  dead_letter: 'due' | 'done' | null
  traceparent: string | null
  created_by: Generated<string | null>
  /** Key that created the task; the audit record of its creation. Null for members, and before migration 0053. */
  api_key_id: Generated<string | null>
  /** Set in the App: notifies the creator when the task ends. */
  notify_maker: Generated<boolean>
  /** Chosen for this task: seconds from its end to its deletion; null: the workspace's retention. */
  retention_seconds: Generated<number | null>
  /** Set by a trigger when a task with `retention_seconds` ends. */
  delete_at: ColumnType<Date | null, never, never>
  /** Photo, result and previews were erased; the keys in this row lead to nothing. */
  erased_at: Generated<Date | null>
  created_at: Generated<Date>
}

export type TaskEventTable = {
  id: Generated<number>
  task_id: string
  /** Null in rows from before change streams. */
  workspace_id: Generated<string | null>
  run: number
  type: string
  payload: JSONColumnType<Record<string, unknown>, string, string>
  at: Generated<Date>
  /** Recipient of a notification that is not yet created. */
  for_user: string | null
}

export type BatchTable = {
  id: Generated<string>
  workspace_id: string
  /** `completed` once all children are terminal; a later retry of a child does not change it. */
  status: Generated<'processing' | 'completed'>
  total_count: number
  /** Children by current status; the others are queued or processing. */
  succeeded_count: Generated<number>
  failed_count: Generated<number>
  canceled_count: Generated<number>
  model_version: string
  /** Receives `batch.completed` and the events of the children. */
  callback_url: string | null
  traceparent: string | null
  created_by: Generated<string | null>
  api_key_id: Generated<string | null>
  notify_maker: Generated<boolean>
  created_at: Generated<Date>
  completed_at: Date | null
}

export type UploadTable = {
  id: Generated<string>
  workspace_id: string
  object_key: string
  content_type: string
  /** Member or creator of the key, and the key; null before migration 0053. */
  created_by: Generated<string | null>
  api_key_id: Generated<string | null>
  created_at: Generated<Date>
  expires_at: Date
  /** Bytes counted while unused: the URL's length, or the plan's largest file. */
  reserved_bytes: Generated<number>
  /** Set by the first task; unused uploads are deleted after 24 h. */
  used_at: Date | null
  /** Set in the transaction that releases the object, before its deletion. */
  deleted_at: Date | null
}

/** One image to fetch by URL. */
export type UploadFetchTable = {
  id: Generated<string>
  workspace_id: string
  object_key: string
  /** Null once ended, like `upload_url`. */
  url: string | null
  upload_url: string | null
  max_bytes: number
  created_at: Generated<Date>
  expires_at: Date
  claim: string | null
  claimed_until: Date | null
  ended_at: Date | null
  outcome: 'STORED' | FetchFailure | 'ABANDONED' | null
  /** Status of the last answer, with outcome STATUS. */
  status_code: number | null
  content_type: string | null
  size_bytes: number | null
}

export type FetchFailure = 'UNREACHABLE' | 'STATUS' | 'TIMEOUT' | 'TOO_LARGE' | 'NO_IMAGE' | 'STORE_FAILED'

/** Counters per workspace and UTC day, updated in the counted transactions. */
export type UsageDayTable = {
  workspace_id: string
  day: string
  created: number
  succeeded: number
  failed: number
  canceled: number
  credits: number
  /** Milliseconds from creation to completion, summed over succeeded tasks. */
  latency_ms: number
  api_requests: number
}

/** Counters by model and member. Days before migration 0043 have none. */
export type UsageDetailTable = Omit<UsageDayTable, 'api_requests'> & {
  model_version: string
  /** Creator of the tasks. Null: a key without a person. */
  user_id: string | null
}
