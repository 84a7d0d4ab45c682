// The thread's side of pdf-printer.ts.
import type { InvoiceForPdf } from '../views/app/invoice-for-pdf.ts'
import { renderInvoicePdf } from '../views/app/invoice-pdf.ts'

export default (invoice: InvoiceForPdf): Promise<Buffer> => renderInvoicePdf(invoice)
