// What the routes of this folder share: a workspace's own things, and pages of them.
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { PaymentDeps } from '@matte/core/payment/payment-deps'
import { findOwn, listOwn } from '@matte/core/payment/rows/list-own'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { isUuid } from '../../../uuid.ts'
import { buildPage, readTaskQuery } from '../../../views/task-page.ts'

export type PaymentRouteDeps = {
  readonly payments: PaymentDeps
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  /** Where people are, to come back to after paying. */
  readonly returnUrl: string
}

type Listed = 'payment_order' | 'refund' | 'invoice'

const names: Readonly<Record<Listed, string>> = { payment_order: 'order', refund: 'refund', invoice: 'invoice' }

/** @throws MatteError NOT_FOUND, for another workspace's too */
export async function requireOwn<T extends Listed>(db: Db, table: T, { workspaceId, id }: Own) {
  const found = isUuid(id) ? await findOwn(db, table, { workspaceId, id: id.toLowerCase() }) : undefined
  if (found === undefined) throw new MatteError('NOT_FOUND', `There is no such ${names[table]}.`)
  return found
}

type Own = { readonly workspaceId: string; readonly id: string }

type PageQuery = Pick<Parameters<typeof readTaskQuery>[0], 'page' | 'pageSize' | 'cursor'>
type Row<T extends Listed> = Awaited<ReturnType<typeof listOwn<T>>>['rows'][number]

type Wanted<T extends Listed, V> = {
  readonly workspaceId: string
  readonly query: PageQuery
  readonly view: (row: Row<T>) => V
}

export async function pageOfOwn<T extends Listed, V>(db: Db, table: T, { workspaceId, query, view }: Wanted<T, V>) {
  const wanted = readTaskQuery(query)
  const { pageSize, offset, after } = wanted
  // One more than the page shows whether another follows.
  const { rows, total } = await listOwn(db, table, { workspaceId, limit: pageSize + 1, offset, after })
  const shown = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? shown.at(-1) : undefined
  const next = last && { createdAtMicros: last.createdAtMicros, id: last.id }
  return buildPage(shown.map(view), wanted, { total, next })
}
