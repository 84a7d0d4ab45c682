import type { ColumnType, Generated } from 'kysely'

/** What a person is told in the App: one for each occurrence of an event. */
export type NotificationTable = {
  id: Generated<string>
  user_id: string
  /** Where it happened. */
  workspace_id: string
  /** The event. */
  type: string
  event_key: string
  title: string
  body: string
  data: ColumnType<Readonly<Record<string, unknown>>, string, never>
  read_at: Date | null
  created_at: Generated<Date>
}

/** What a person has chosen for an event; without a row its defaults hold. */
export type NotificationPreferenceTable = {
  user_id: string
  event: string
  in_app: boolean
  email: boolean
}
