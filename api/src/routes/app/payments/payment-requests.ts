import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { findOwn, listOwn } from '@matte/people/payment/order-queries'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import { readListQuery, readPage } from '../../../paging.ts'
import { isUuid } from '../../../uuid.ts'

export type PaymentRouteDeps = {
  readonly payments: PaymentDeps
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly returnUrl: string
}

type Listed = 'payment_order' | 'refund' | 'invoice'

const names: Readonly<Record<Listed, string>> = { payment_order: 'order', refund: 'refund', invoice: 'invoice' }

/** @throws MatteError NOT_FOUND, also for another workspace's resource */
export async function requireOwn<T extends Listed>(db: Db, table: T, { workspaceId, id }: Own) {
  const found = isUuid(id) ? await findOwn(db, table, { workspaceId, id: id.toLowerCase() }) : undefined
  if (found === undefined) throw new MatteError('NOT_FOUND', `There is no such ${names[table]}.`)
  return found
}

type Own = { readonly workspaceId: string; readonly id: string }

type PageQuery = Pick<Parameters<typeof readListQuery>[0], 'page' | 'pageSize' | 'cursor'>
type Row<T extends Listed> = Awaited<ReturnType<typeof listOwn<T>>>['rows'][number]

type Wanted<T extends Listed, V> = {
  readonly workspaceId: string
  readonly query: PageQuery
  readonly view: (row: Row<T>) => V
}

export async function pageOfOwn<T extends Listed, V>(db: Db, table: T, { workspaceId, query, view }: Wanted<T, V>) {
  return readPage(readListQuery(query), {
    read: async (range) => {
      const { rows, total } = await listOwn(db, table, { workspaceId, ...range })
      return [rows, total] as const
    },
    micros: (row) => row.createdAtMicros,
    view,
  })
}
