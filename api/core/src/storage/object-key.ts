import { randomUUID } from 'node:crypto'

/**
 * The key of a new upload, `private-uploads/<yyyy>/<mm>/<uuid>-<file name>` (D20). The name is reduced to
 * `[A-Za-z0-9._-]` and its last 100 characters, so that the ending survives; the key alone grants nothing.
 */
export function newUploadKey(fileName: string, at: Date): string {
  const name = fileName
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(-100)
  return `private-uploads/${yearMonth(at)}/${randomUUID()}-${name}`
}

/** The key of the PDF of an invoice. There is one for each, so that its deletion finds it without a list. */
export const invoicePdfKey = (invoice: { readonly id: string; readonly issued_at: Date }): string =>
  `invoices/${yearMonth(invoice.issued_at)}/${invoice.id}.pdf`

/** False for a text that can be no object key: nothing, or a URL, which is never fetched (D22). */
export const isKeyForm = (text: string): boolean => text !== '' && !text.includes('://')

export const yearMonth = (at: Date): string => at.toISOString().slice(0, 7).replace('-', '/')
