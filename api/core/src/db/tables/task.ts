import type { Generated, JSONColumnType } from 'kysely'

export type Foreground = { top: number; left: number; width: number; height: number }

/** The form of the result, every default filled in (D41); what each member does is in `task/output.ts`. */
export type Output = {
  format: 'png' | 'webp' | 'jpeg'
  /** `transparent`, `#rrggbb` or `#rrggbbaa`, in lower case. */
  background: string
  crop: boolean
  /** `10%` or `20px`. */
  cropMargin: string
  /** Pixels; null: no bound. */
  maxSide: number | null
  channels: 'rgba' | 'alpha'
}

export type TaskTable = {
  id: Generated<string>
  workspace_id: string
  batch_id: string | null
  status: Generated<'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled'>
  /** 1, 2, …: a caller's retry starts the next. */
  run: Generated<number>
  /** The model version as answered to the caller; a controller claims the versions that its pods serve. */
  model_version: string
  upload_id: string
  source_key: string
  /** Frozen at creation: an object that differs later fails the run with INPUT_CHANGED (D22). */
  source_etag: string
  source_size_bytes: number
  callback_url: string | null
  /** Null: the caller asked for nothing. */
  output: JSONColumnType<Output | null, string | null, string | null>
  credit_cost: number
  retry_count: Generated<number>
  /** Attempts begun in this run that count; a pod that was not there gives its attempt back. */
  attempt: Generated<number>
  claim: string | null
  claimed_until: Date | null
  /** While processing without a live claim: not before this time. */
  due_at: Generated<Date>
  /** Start of the run's waiting; `tasks.maxQueueAge` counts from here. */
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
  /** Attempts that fail on purpose, set by `matte-admin fault inference` outside production (D53). */
  fault_attempts: Generated<number>
  /** 'due' once attempts are exhausted, 'done' after the hand-over to the dead-letter stream (D35). */
  dead_letter: 'due' | 'done' | null
  traceparent: string | null
  /** The member who made it, or the maker of the key; null: neither is known. */
  created_by: Generated<string | null>
  /** Made in the App: its maker is told how it ended. */
  notify_maker: Generated<boolean>
  created_at: Generated<Date>
}

export type TaskEventTable = {
  id: Generated<number>
  task_id: string
  /** Null: written before streams of changes were there. */
  workspace_id: Generated<string | null>
  run: number
  type: string
  payload: JSONColumnType<Record<string, unknown>, string, string>
  at: Generated<Date>
  /** The member who is still to be told of it. */
  for_user: string | null
}
