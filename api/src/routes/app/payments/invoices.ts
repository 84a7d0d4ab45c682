import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { pdfPrinter } from '../../../invoice/pdf-printer.ts'
import { readOrPrint } from '../../../invoice/stored-pdf.ts'
import { invoiceSchema, toInvoiceView } from '../../../schemas/app/payment.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { type PaymentRouteDeps, pageOfOwn, requireOwn } from './payment-requests.ts'

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
const pdf = Type.Unsafe<Buffer | Readable>({ type: 'string', format: 'binary' })
const pdfSchema = {
  operationId: 'getInvoicePdf',
  summary: 'Get an invoice or a credit note as PDF',
  description: 'Generated once and stored: later requests return the same bytes.',
  tags,
  params: invoiceId,
  response: {
    ...memberResponses(200, Type.Any(), ['TASK_STORAGE_UNAVAILABLE']),
    200: { description: 'The PDF.', content: { 'application/pdf': { schema: pdf } } },
  },
}

export const invoiceRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, bucket, probe }) => {
  const { db } = payments
  const find = ({ caller, params }: FastifyRequest) =>
    requireOwn(db, 'invoice', { workspaceId: caller.workspaceId, id: (params as { invoiceId: string }).invoiceId })
  const exists = async (request: FastifyRequest): Promise<void> => void (await find(request))

  app.get('/api/v1/app/payments/invoices', { schema: listSchema, config: { access } }, async ({ caller, query }) =>
    pageOfOwn(db, 'invoice', { workspaceId: caller.workspaceId, query, view: toInvoiceView }),
  )

  app.get(
    '/api/v1/app/payments/invoices/:invoiceId',
    { schema: getSchema, config: { access, exists } },
    async (request) => toInvoiceView(await find(request)),
  )

  const printer = pdfPrinter()
  app.addHook('onClose', () => printer.close())
  const store = { db, bucket, probe, printer }
  const pdfConfig = { access, exists, envelope: false } as const
  app.get(
    '/api/v1/app/payments/invoices/:invoiceId/pdf',
    { schema: pdfSchema, config: pdfConfig },
    async (request, reply) => {
      const invoice = await find(request)
      const id = invoice.corrects ?? invoice.credit_note_for
      const own = { workspaceId: invoice.workspace_id }
      const corrected = id === null ? undefined : (await requireOwn(db, 'invoice', { ...own, id })).number
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const pdf = await request.awaitStore(() => readOrPrint(store, { invoice, corrected, signal: gone.signal }))
      return reply
        .headers({
          'content-type': 'application/pdf',
          'content-disposition': `attachment; filename="invoice-${invoice.number}.pdf"`,
          'content-length': pdf.sizeBytes,
        })
        .send(pdf.body)
    },
  )
}
