import type { Generated } from 'kysely'

export type UploadTable = {
  id: Generated<string>
  workspace_id: string
  object_key: string
  content_type: string
  created_at: Generated<Date>
  /** Until when the presigned URL accepts a PUT. */
  expires_at: Date
  /** What it counts for while unused: the length that its URL takes, or the plan's largest file. */
  reserved_bytes: Generated<number>
  /** Set by the first task that uses the object; an unused upload is deleted after 24 h (D24). */
  used_at: Date | null
  /** Set in the transaction that gives the object up; the object goes after it. */
  deleted_at: Date | null
}
