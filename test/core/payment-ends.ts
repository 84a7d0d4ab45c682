import type { Db } from '@matte/core/db/database'

/** Events that the sandbox should send, captured. */
export async function takeEvents(db: Db): Promise<string[]> {
  const rows = await db
    .updateTable('sandbox_event')
    .set({ delivered_at: new Date() })
    .where('delivered_at', 'is', null)
    .returning(['position', 'body'])
    .execute()
  return rows.sort((a, b) => a.position - b.position).map(({ body }) => body)
}

/** Everything that a workspace has, without generated ids and times. */
export async function readEnd(db: Db, workspaceId: string) {
  const own = { workspace_id: workspaceId }
  const where = <T extends { where: (column: 'workspace_id', operator: '=', value: string) => T }>(query: T): T =>
    query.where('workspace_id', '=', own.workspace_id)
  const sorted = (rows: readonly object[]): string[] => rows.map((row) => JSON.stringify(row)).sort()
  const orders = await where(
    db
      .selectFrom('payment_order')
      .select(['reason', 'status', 'description', 'credits', 'amount', 'refunded_amount', 'refunded_credits']),
  ).execute()
  const subscriptions = await where(
    db
      .selectFrom('subscription')
      .select(['plan', 'billing_interval', 'status', 'cancel_at_period_end', 'period_start', 'period_end', 'ended_at']),
  ).execute()
  const lots = await where(
    db.selectFrom('credit_lot').select(['kind', 'granted', 'available', 'refunded', 'expires_at']),
  ).execute()
  const invoices = await readInvoices(db, workspaceId)
  const refunds = await where(db.selectFrom('refund').select(['status', 'amount', 'credits'])).execute()
  const { plan } = await db
    .selectFrom('workspace')
    .select('plan')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return {
    plan,
    orders: sorted(orders),
    subscriptions: sorted(subscriptions),
    lots: sorted(lots),
    invoices: sorted(invoices),
    refunds: sorted(refunds),
  }
}

/**
 * Corrections in force. A consumer that learns of a refund's failure before its success issues no credit note and has
 * none to cancel. A correction without its note, or two of one, would remain.
 */
async function readInvoices(db: Db, workspaceId: string): Promise<readonly object[]> {
  const rows = await db.selectFrom('invoice').selectAll().where('workspace_id', '=', workspaceId).execute()
  const canceled = rows.map(({ corrects }) => corrects).filter((id) => id !== null)
  return rows
    .filter(({ id, corrects }) => corrects === null && !canceled.includes(id))
    .map(({ subtotal, tax, total, currency, refund_id }) => ({ subtotal, tax, total, currency, isNote: !!refund_id }))
}
