/** All that stands on an invoice, as it was when the invoice was issued: what is printed later is the same. */
export type InvoiceForPdf = {
  /** Without gaps within its year, such as `2026-000042`. */
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
  /** Amounts of money are integers in minor units, here and below. */
  readonly lines: readonly {
    readonly description: string
    readonly quantity: number
    readonly unitAmount: number
    readonly amount: number
  }[]
  /** `subtotal` + `tax`. */
  readonly total: number
  readonly subtotal: number
  readonly tax: number
  /** ISO 4217; it says how many digits the minor unit has: two of USD, none of JPY. */
  readonly currency: string
  /** Of a credit note: the number of the invoice that it corrects. Its amounts are positive: what is given back. */
  readonly creditNoteFor?: string
  /** Of a correction: the number of the credit note that it cancels. */
  readonly corrects?: string
}
