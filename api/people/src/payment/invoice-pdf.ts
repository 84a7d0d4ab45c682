// PDFs are rendered on first request and stored. Rendering is deterministic, so a lost PDF is rendered again.

import type { Db } from '@matte/core/db/database'
import type { InvoiceTable } from '@matte/core/db/tables/payment'
import type { Bucket } from '@matte/core/storage/bucket'
import { invoicePdfKey } from '@matte/core/storage/object-key'
import { StorageError } from '@matte/core/storage/storage-error'
import { type Selectable, sql } from 'kysely'

type InvoiceRow = Selectable<InvoiceTable>
type StoredPdf = { readonly body: NonNullable<Awaited<ReturnType<Bucket['open']>>['body']>; readonly sizeBytes: number }

/** Undefined if no PDF is stored. @throws StorageError */
export async function openInvoicePdf(
  bucket: Pick<Bucket, 'open'>,
  invoice: InvoiceRow,
  signal: AbortSignal,
): Promise<StoredPdf | undefined> {
  try {
    const { body, lengthBytes: sizeBytes } = await bucket.open(invoicePdfKey(invoice), { signal })
    return body && { body, sizeBytes }
  } catch (error) {
    if (error instanceof StorageError && error.kind === 'missing') return undefined
    throw error
  }
}

/**
 * Stores the PDF. If the buyer was erased since the invoice was read, the object is scheduled for deletion. If the
 * process dies before that, the deletion planned by the erasure covers it.
 * @throws StorageError
 */
export async function storeInvoicePdf(
  { db, bucket }: { readonly db: Db; readonly bucket: Pick<Bucket, 'put'> },
  invoice: InvoiceRow,
  pdf: Uint8Array,
): Promise<void> {
  const key = invoicePdfKey(invoice)
  await bucket.put(key, pdf, { contentType: 'application/pdf', signal: AbortSignal.timeout(putTimeoutMs) })
  await sql`
    insert into object_deletion (object_key, due_at)
    select ${key}::text, now() from invoice
     where id = ${invoice.id} and buyer is distinct from ${JSON.stringify(invoice.buyer)}::jsonb
    on conflict (object_key) do update set due_at = least(object_deletion.due_at, excluded.due_at)`.execute(db)
}

/** Far below the hour after which an erasure deletes PDFs. */
const putTimeoutMs = 15_000
