import { describe, expect, it } from 'vitest'
import { formatMoney, type InvoiceForPdf, renderInvoicePdf } from './invoice-pdf.ts'

const invoice: InvoiceForPdf = {
  number: '2026-000042',
  issuedAt: new Date('2026-11-22T10:00:00Z'),
  paidAt: new Date('2026-11-22T09:59:00Z'),
  seller: { name: 'Matte Example Ltd', addressLines: ['1 Main Street', 'Dublin 2', 'Ireland'], taxId: 'IE1234567T' },
  buyer: {
    name: 'Łukasz Żółć, Ελένη & Иван',
    email: 'billing@example.com',
    addressLines: ['ul. Długa 5', '00-238 Warszawa', 'Poland'],
    taxId: null,
  },
  lines: [{ description: '1,000 credits', quantity: 1, unitAmount: 1_999, amount: 1_999 }],
  subtotal: 1_999,
  tax: 0,
  total: 1_999,
  currency: 'USD',
}

/** Number of page objects in the file. */
const pagesOf = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0

describe('renderInvoicePdf', () => {
  it('renders a PDF, the same bytes each time', async () => {
    const first = await renderInvoicePdf(invoice)
    expect(first.subarray(0, 5).toString()).toBe('%PDF-')
    expect(first.subarray(-6).toString()).toContain('%%EOF')
    expect(pagesOf(first)).toBe(1)
    expect(Buffer.compare(first, await renderInvoicePdf(invoice))).toBe(0)
  })

  it('continues on further pages, and accepts any text that a caller may have sent', async () => {
    const description = `A very long\u0000 description\n ${'that goes on '.repeat(20)}`
    const [line] = invoice.lines
    const lines = Array.from({ length: 40 }, () => ({ quantity: 1, unitAmount: 1, amount: 1, ...line, description }))
    const pdf = await renderInvoicePdf({ ...invoice, lines, buyer: { ...invoice.buyer, name: '株式会社 \u202e🙂' } })
    expect(pagesOf(pdf)).toBeGreaterThan(2)
  })

  it('names the invoice that a credit note corrects, and the credit note that a correction cancels', async () => {
    const about = [{}, { creditNoteFor: '2026-000042' }, { corrects: '2026-000042' }]
    const pdfs = await Promise.all(
      about.map((each) => renderInvoicePdf({ ...invoice, number: '2026-000043', ...each })),
    )
    expect(new Set(pdfs.map((pdf) => pdf.toString('latin1'))).size).toBe(3)
  })
})

describe('formatMoney', () => {
  it.each([
    [1_999, 'USD', 'USD 19.99'],
    [500, 'JPY', 'JPY 500'],
    [90_000, 'HUF', 'HUF 900.00'],
    [500, 'ISK', 'ISK 500'],
    [1_234_567, 'KWD', 'KWD 1,234.567'],
    [0, 'EUR', 'EUR 0.00'],
    [-1_999, 'EUR', '-EUR 19.99'],
  ])('%d %s is %s', (amount, currency, text) => {
    expect(formatMoney(amount, currency)).toBe(text)
  })
})
