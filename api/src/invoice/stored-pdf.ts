import { MatteError } from '@matte/core/error'
import { StorageError, storeUnavailable } from '@matte/core/storage/storage-error'
import { openInvoicePdf, storeInvoicePdf } from '@matte/people/payment/invoice-pdf'
import type { findOwn } from '@matte/people/payment/order-queries'
import type { InvoiceForPdf } from './invoice-pdf.ts'
import type { PdfPrinter } from './pdf-printer.ts'

type Invoice = NonNullable<Awaited<ReturnType<typeof findOwn<'invoice'>>>>

type StoreDeps = Parameters<typeof storeInvoicePdf>[0] & {
  readonly bucket: Parameters<typeof openInvoicePdf>[0]
  readonly probe: { isDown(): boolean }
  readonly printer: PdfPrinter
}

type Wanted = {
  readonly invoice: Invoice
  readonly corrected: string | undefined
  readonly signal: AbortSignal
}

/** Returns the stored PDF; prints and stores it first if needed. @throws MatteError TASK_STORAGE_UNAVAILABLE */
export async function readOrPrint({ probe, printer, ...store }: StoreDeps, { invoice, corrected, signal }: Wanted) {
  try {
    if (probe.isDown()) throw storeUnavailable(undefined)
    const stored = await openInvoicePdf(store.bucket, invoice, signal)
    if (stored !== undefined) return stored
    const pdf = await printer.print(invoice.id, toInvoiceForPdf(invoice, corrected))
    await storeInvoicePdf(store, invoice, pdf)
    return { body: Buffer.from(pdf), sizeBytes: pdf.byteLength }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    const message = 'The object store is unavailable. Try again.'
    throw new MatteError('TASK_STORAGE_UNAVAILABLE', message, { cause: error })
  }
}

/** `corrected`: number of the invoice or credit note that this one corrects. */
const toInvoiceForPdf = (invoice: Invoice, corrected: string | undefined): InvoiceForPdf => ({
  number: invoice.number,
  issuedAt: invoice.issued_at,
  paidAt: invoice.paid_at,
  seller: invoice.seller,
  buyer: invoice.buyer,
  lines: invoice.lines,
  subtotal: invoice.subtotal,
  tax: invoice.tax,
  total: invoice.total,
  currency: invoice.currency,
  ...(corrected !== undefined && { [invoice.corrects === null ? 'creditNoteFor' : 'corrects']: corrected }),
})
