import { type InvoiceForPdf, renderInvoicePdf } from './invoice-pdf.ts'

export default (invoice: InvoiceForPdf): Promise<Buffer> => renderInvoicePdf(invoice)
