import type { Generated } from 'kysely'

export type BatchTable = {
  id: Generated<string>
  workspace_id: string
  /** `completed` once every child was terminal, and for good: a later retry of a child leaves it (D52). */
  status: Generated<'processing' | 'completed'>
  total_count: number
  /** Children by the status that they have now; the rest is queued or processing. */
  succeeded_count: Generated<number>
  failed_count: Generated<number>
  canceled_count: Generated<number>
  model_version: string
  /** Gets `batch.completed` and the events of the children (D62). */
  callback_url: string | null
  traceparent: string | null
  /** The member who made it, or the maker of the key; null: neither is known. */
  created_by: Generated<string | null>
  /** Made in the App: its maker is told of its end. */
  notify_maker: Generated<boolean>
  created_at: Generated<Date>
  completed_at: Date | null
}
