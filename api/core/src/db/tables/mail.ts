import type { ColumnType, Generated } from 'kysely'

/** A mail, sent once at its due time. */
export type MailTable = {
  id: Generated<string>
  mail_key: string | null
  user_id: string | null
  /** Null once sent or given up, like `data_sealed`. */
  to_address: string | null
  to_key: string | null
  template: string
  /** Template data, sealed under the master keys because it may hold a token. */
  data_sealed: string | null
  status: Generated<'pending' | 'sent' | 'failed'>
  attempt: Generated<number>
  due_at: Generated<Date>
  claim: string | null
  claimed_until: Date | null
  error: string | null
  completed_at: Date | null
  created_at: Generated<Date>
}

/** Budget of mails that strangers can cause. */
export type MailRoomTable = {
  /** SHA-256 of the address key; zeros for all addresses together. */
  address: Buffer
  kind: 'asked' | 'noted' | 'invited' | 'verifying'
  /** Time at which the full budget is available again. */
  spent_until: Date
}

/** An event whose notifications and mails are not yet created. */
export type NotificationDueTable = {
  id: Generated<number>
  event: string
  event_key: string
  workspace_id: string
  /** Recipient; null: every member whose role the event concerns. */
  user_id: string | null
  fields: ColumnType<Readonly<Record<string, unknown>>, string, never>
  at: Generated<Date>
}

export type NotificationTable = {
  id: Generated<string>
  user_id: string
  workspace_id: string
  type: string
  event_key: string
  title: string
  body: string
  data: ColumnType<Readonly<Record<string, unknown>>, string, never>
  read_at: Date | null
  created_at: Generated<Date>
}

export type NotificationPreferenceTable = {
  user_id: string
  event: string
  in_app: boolean
  email: boolean
}
