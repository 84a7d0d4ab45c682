import type { ColumnType, Generated } from 'kysely'

/** A mail, due at a time and sent once (D73). */
export type MailTable = {
  id: Generated<string>
  /** Names the mail: the same key again is the same mail. */
  mail_key: string | null
  user_id: string | null
  /** Null once it is sent or given up, like `data_sealed`. */
  to_address: string | null
  /** Key of that address (D85). */
  to_key: string | null
  template: string
  /** What the template is filled with, sealed under the master keys: it may hold a token. */
  data_sealed: string | null
  status: Generated<'pending' | 'sent' | 'failed'>
  attempt: Generated<number>
  due_at: Generated<Date>
  claim: string | null
  claimed_until: Date | null
  /** The server's last refusal. */
  error: string | null
  completed_at: Date | null
  created_at: Generated<Date>
}

/** Mails to an address that strangers have caused (A108). */
export type MailRoomTable = {
  /** SHA-256 of the address's key (D85); zeros for all addresses together. */
  address: Buffer
  kind: 'asked' | 'noted' | 'invited' | 'verifying'
  /** When the address has room as if none had been sent. */
  spent_until: Date
}

/** An event that concerns people, until its notifications and mails are made. */
export type NotificationDueTable = {
  id: Generated<number>
  event: string
  event_key: string
  workspace_id: string
  /** The person that it concerns; null: those whose role in the workspace it concerns. */
  user_id: string | null
  fields: ColumnType<Readonly<Record<string, unknown>>, string, never>
  at: Generated<Date>
}
