// The PDF of an invoice is made for its first reader and kept in the object store. The store alone knows whether it is
// there, so a lost object is made again. The same invoice makes the same bytes: two replicas that make it at once store
// the same.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { InvoiceTable } from '../db/tables/payment.ts'
import type { Bucket } from '../storage/bucket.ts'
import { invoicePdfKey } from '../storage/object-key.ts'
import { StorageError } from '../storage/storage-error.ts'

type InvoiceRow = Selectable<InvoiceTable>
type StoredPdf = { readonly body: NonNullable<Awaited<ReturnType<Bucket['open']>>['body']>; readonly sizeBytes: number }

/** The stored PDF; undefined before its first reader and after the object was lost. @throws StorageError */
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
 * Stores the PDF. If the buyer was erased since the invoice was read, the object is deleted again; should the process
 * die before that, the deletion that the erasure has planned comes later than the end of any request.
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

/** Far below the hour after which an erasure deletes. */
const putTimeoutMs = 15_000
