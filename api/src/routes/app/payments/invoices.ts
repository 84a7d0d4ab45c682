import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { invoiceSchema } from '../../../schemas/app/payment.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { toInvoiceForPdf, toInvoiceView } from '../../../views/app/payment-view.ts'
import { type PaymentRouteDeps, pageOfOwn, requireOwn } from './own.ts'

const tags = ['Payments']
const invoiceId = Type.Object({ invoiceId: Type.String() })
const access = { roles: ['owner', 'admin', 'billing'] } as const

const listSchema = {
  operationId: 'listInvoices',
  summary: 'List the invoices and credit notes of the workspace, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: memberResponses(200, success('One page.', pageOf(refer(invoiceSchema))), []),
}
const getSchema = {
  operationId: 'getInvoice',
  summary: 'Get an invoice or a credit note',
  tags,
  params: invoiceId,
  response: memberResponses(200, success('The invoice.', refer(invoiceSchema)), []),
}
const pdf = Type.Unsafe<Buffer>({ type: 'string', format: 'binary' })
const pdfSchema = {
  operationId: 'getInvoicePdf',
  summary: 'Get an invoice or a credit note as PDF',
  tags,
  params: invoiceId,
  response: {
    ...memberResponses(200, Type.Any(), []),
    200: { description: 'The PDF.', content: { 'application/pdf': { schema: pdf } } },
  },
}

export const invoiceRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments }) => {
  const { db } = payments
  const find = ({ caller, params }: FastifyRequest) =>
    requireOwn(db, 'invoice', { workspaceId: caller.workspaceId, id: (params as { invoiceId: string }).invoiceId })
  const exists = async (request: FastifyRequest): Promise<void> => void (await find(request))

  app.get('/invoices', { schema: listSchema, config: { access } }, async ({ caller, query }) =>
    pageOfOwn(db, 'invoice', { workspaceId: caller.workspaceId, query, view: toInvoiceView }),
  )

  app.get('/invoices/:invoiceId', { schema: getSchema, config: { access, exists } }, async (request) =>
    toInvoiceView(await find(request)),
  )

  const pdfConfig = { access, exists, envelope: false } as const
  app.get('/invoices/:invoiceId/pdf', { schema: pdfSchema, config: pdfConfig }, async (request, reply) => {
    const invoice = await find(request)
    const { workspace_id: workspaceId, number } = invoice
    const id = invoice.corrects ?? invoice.credit_note_for
    const corrected = id === null ? undefined : await requireOwn(db, 'invoice', { workspaceId, id })
    reply.header('content-type', 'application/pdf')
    // The library and its font tables are loaded for those who ask for a PDF alone.
    const { renderInvoicePdf } = await import('../../../views/app/invoice-pdf.ts')
    reply.header('content-disposition', `attachment; filename="invoice-${number}.pdf"`)
    return reply.send(await renderInvoicePdf(toInvoiceForPdf(invoice, corrected?.number)))
  })
}
