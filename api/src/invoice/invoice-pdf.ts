// Renders an invoice or credit note as PDF; the same invoice gives the same bytes. Embeds Noto Sans for Latin, Greek,
// Cyrillic and Devanagari; other scripts show as boxes.

import { createRequire } from 'node:module'
import { minorDigits } from '@matte/people/payment/provider/arithmetic'
import PdfDocument from 'pdfkit'

/** Content of an invoice at the time of issue. */
export type InvoiceForPdf = {
  readonly number: string
  readonly issuedAt: Date
  readonly paidAt: Date
  readonly seller: { readonly name: string; readonly addressLines: readonly string[]; readonly taxId: string | null }
  readonly buyer: {
    readonly name: string
    readonly email: string | null
    readonly addressLines: readonly string[]
    readonly taxId: string | null
  }
  /** Amounts are integers in minor units, here and below. */
  readonly lines: readonly {
    readonly description: string
    readonly quantity: number
    readonly unitAmount: number
    readonly amount: number
  }[]
  readonly total: number
  readonly subtotal: number
  readonly tax: number
  /** ISO 4217; determines the digits of the minor unit. */
  readonly currency: string
  readonly creditNoteFor?: string
  readonly corrects?: string
}

type Pdf = InstanceType<typeof PdfDocument>

const require = createRequire(import.meta.url)
const fonts = {
  regular: require.resolve('@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf'),
  bold: require.resolve('@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf'),
}

// In points, 1/72 inch.
const margin = 56
const size = { title: 20, text: 9.5, small: 8 }
const ink = { text: '#1a1a1a', faint: '#6b6b6b', line: '#d4d4d4' }
const columns = {
  description: { x: margin, width: 243 },
  quantity: { x: 309, width: 50 },
  unitAmount: { x: 369, width: 80 },
  amount: { x: 459, width: 80 },
} as const
const rightEdge = columns.amount.x + columns.amount.width
const contentWidth = rightEdge - margin
const bottom = 770

export async function renderInvoicePdf(invoice: InvoiceForPdf): Promise<Buffer> {
  const title = titleOf(invoice)
  const pdf = new PdfDocument({
    size: 'A4',
    margins: { top: margin, left: margin, right: margin, bottom: 0 }, // drawRow adds pages
    font: fonts.regular,
    lang: 'en',
    displayTitle: true,
    bufferPages: true,
    info: {
      Title: `${title} ${invoice.number}`,
      Author: plain(invoice.seller.name),
      CreationDate: invoice.issuedAt,
      ModDate: invoice.issuedAt,
    },
  })
  const chunks: Buffer[] = []
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<void>((resolve, reject) => pdf.once('end', resolve).once('error', reject))
  pdf.registerFont('regular', fonts.regular).registerFont('bold', fonts.bold)
  drawHead(pdf, title, invoice)
  drawParties(pdf, invoice)
  drawLines(pdf, invoice)
  drawTotals(pdf, invoice)
  numberPages(pdf, `${title} ${invoice.number}`)
  pdf.end()
  await ended
  return Buffer.concat(chunks)
}

/** One line: names come from callers and may hold any characters. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()

const day = (at: Date): string => at.toISOString().slice(0, 10)

/** 1999 USD is `USD 19.99`, 500 JPY is `JPY 500`. */
export function formatMoney(amount: number, currency: string): string {
  const digits = minorDigits(currency)
  const shown = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency, currencyDisplay: 'code', ...shown })
  return format.format(amount / 10 ** digits).replace(/\s/g, ' ')
}

function use(pdf: Pdf, font: 'regular' | 'bold', { points = size.text, color = ink.text } = {}): Pdf {
  return pdf.font(font).fontSize(points).fillColor(color)
}

function titleOf({ creditNoteFor, corrects }: InvoiceForPdf): string {
  if (corrects !== undefined) return 'Correction'
  return creditNoteFor === undefined ? 'Invoice' : 'Credit note'
}

function aboutOf({ creditNoteFor, corrects, paidAt }: InvoiceForPdf): readonly [string, string] {
  if (corrects !== undefined) return ['Cancels credit note', corrects]
  return creditNoteFor === undefined ? ['Date of payment', day(paidAt)] : ['Corrects invoice', creditNoteFor]
}

function drawHead(pdf: Pdf, title: string, invoice: InvoiceForPdf): void {
  use(pdf, 'bold', { points: size.title }).text(title, margin, margin)
  const facts = [['Number', invoice.number], ['Date of issue', day(invoice.issuedAt)], aboutOf(invoice)] as const
  for (const [index, [name, value]] of facts.entries()) {
    const y = margin + 4 + index * 15
    use(pdf, 'regular', { color: ink.faint }).text(name, 309, y, { width: 120 })
    use(pdf, 'bold').text(value, 430, y, { width: rightEdge - 430, align: 'right' })
  }
}

function drawParties(pdf: Pdf, { seller, buyer }: InvoiceForPdf): void {
  const top = 140
  const block = (heading: string, lines: readonly (string | null)[], x: number): number => {
    use(pdf, 'regular', { points: size.small, color: ink.faint }).text(heading, x, top)
    let y = top + 14
    for (const [index, line] of lines.filter((each) => each !== null && plain(each) !== '').entries()) {
      use(pdf, index === 0 ? 'bold' : 'regular').text(plain(line ?? ''), x, y, { width: 225 })
      y = pdf.y
    }
    return y
  }
  const taxId = (id: string | null): string | null => id && `Tax id ${id}`
  const left = block('From', [seller.name, ...seller.addressLines, taxId(seller.taxId)], margin)
  const right = block('To', [buyer.name, ...buyer.addressLines, buyer.email, taxId(buyer.taxId)], 309)
  pdf.y = Math.max(left, right) + 28
}

type Row = Readonly<Record<keyof typeof columns, string>>

function drawLines(pdf: Pdf, { lines, currency }: InvoiceForPdf): void {
  const headings: Row = { description: 'Description', quantity: 'Quantity', unitAmount: 'Unit price', amount: 'Amount' }
  drawRow(pdf, headings, true)
  for (const line of lines) {
    const row: Row = {
      description: plain(line.description),
      quantity: new Intl.NumberFormat('en-US').format(line.quantity),
      unitAmount: formatMoney(line.unitAmount, currency),
      amount: formatMoney(line.amount, currency),
    }
    if (pdf.y + heightOf(pdf, row) > bottom) {
      pdf.addPage()
      pdf.y = margin
      drawRow(pdf, headings, true)
    }
    drawRow(pdf, row, false)
  }
}

function heightOf(pdf: Pdf, { description }: Row): number {
  return use(pdf, 'regular').heightOfString(description, { width: columns.description.width }) + 14
}

function drawRow(pdf: Pdf, row: Row, isHeading: boolean): void {
  const { y } = pdf
  const height = heightOf(pdf, row)
  for (const [name, { x, width }] of Object.entries(columns) as [keyof Row, { x: number; width: number }][]) {
    if (isHeading) use(pdf, 'regular', { points: size.small, color: ink.faint })
    else use(pdf, 'regular')
    pdf.text(row[name], x, y, { width, align: name === 'description' ? 'left' : 'right' })
  }
  pdf.y = y + height
  drawRule(pdf, pdf.y - 7)
}

function drawRule(pdf: Pdf, y: number): void {
  pdf.moveTo(margin, y).lineTo(rightEdge, y).lineWidth(0.5).strokeColor(ink.line).stroke()
}

function totalLabel(creditNoteFor: string | undefined, total: number): string {
  if (creditNoteFor !== undefined) return 'Total, refunded'
  return total < 0 ? 'Total, credited' : 'Total, paid'
}

function drawTotals(pdf: Pdf, { subtotal, tax, total, currency, creditNoteFor }: InvoiceForPdf): void {
  const rows = [
    ['Subtotal', subtotal, 'regular'],
    ['Tax', tax, 'regular'],
    [totalLabel(creditNoteFor, total), total, 'bold'],
  ] as const
  if (pdf.y + rows.length * 18 > bottom) {
    pdf.addPage()
    pdf.y = margin
  }
  for (const [name, amount, font] of rows) {
    const { y } = pdf
    use(pdf, font).text(name, 309, y, { width: 120 })
    use(pdf, font).text(formatMoney(amount, currency), 429, y, { width: rightEdge - 429, align: 'right' })
    pdf.y = y + 18
  }
}

function numberPages(pdf: Pdf, name: string): void {
  const { start, count } = pdf.bufferedPageRange()
  for (let index = 0; index < count; index += 1) {
    pdf.switchToPage(start + index)
    use(pdf, 'regular', { points: size.small, color: ink.faint }).text(
      `${name}, page ${index + 1} of ${count}`,
      margin,
      800,
      {
        width: contentWidth,
        align: 'center',
      },
    )
  }
}
