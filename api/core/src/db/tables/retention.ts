/** An object whose row is gone; `due_at` moves on while somebody deletes it. */
export type ObjectDeletionTable = {
  object_key: string
  due_at: Date
}

/** What `task.retention_cleanup` has still to announce of a workspace. */
export type RetentionNoticeTable = {
  workspace_id: string
  /** Tasks deleted since the last notice. */
  deleted: number
  /** The UTC day of the last notice, `YYYY-MM-DD`. */
  announced_on: string | null
}
