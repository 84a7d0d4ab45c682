import type { ColumnType, Generated } from 'kysely'

/** An event of a payment provider; written in the transaction that applies it (D72). */
export type ProviderEventTable = {
  provider: string
  event_id: string
  type: string
  /** The workspace that it concerned; null if it was ignored. */
  workspace_id: string | null
  /** The body as it was signed; empty if it was ignored, or after its workspace has ended. */
  raw: string
  /** It was about something of ours. */
  applied: boolean
  received_at: Generated<Date>
}

/** What the sandbox provider knows: its side of a checkout, a subscription, an invoice, a refund. */
export type SandboxObjectTable = {
  id: string
  kind: 'checkout' | 'subscription' | 'invoice' | 'refund'
  state: ColumnType<unknown, string, string>
  /** Of a subscription: the end of its period. */
  due_at: Date | null
}

/** An event that the sandbox sends once it is due; one that comes twice has two rows. */
export type SandboxEventTable = {
  position: Generated<number>
  body: string
  due_at: Date
  delivered_at: Date | null
}
