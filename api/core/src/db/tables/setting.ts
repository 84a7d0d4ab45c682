import type { ColumnType, Generated } from 'kysely'

/** Settings that operators change at run time; applied on every replica within 5 s. */
export type SettingTable = {
  name: string
  value: ColumnType<boolean | string[], string, string>
  updated_at: Generated<Date>
}

/** An object whose row is deleted. A sweeper that takes it moves `due_at` ahead. */
export type ObjectDeletionTable = {
  object_key: string
  due_at: Date
  /** Deleted a second time then, for writers that were late. */
  again_at: Generated<Date | null>
}

export type RetentionNoticeTable = {
  workspace_id: string
  deleted: number
  announced_on: string | null
}
