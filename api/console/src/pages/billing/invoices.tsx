import type { App } from 'matte-client/app'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { saveBlob } from '../../ui/save-blob.ts'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { showError } from '../../ui/toasts.tsx'
import { billingText } from './billing-text.ts'

export function Invoices() {
  const app = useApp()
  const text = useText(billingText)
  const format = useFormat()
  const download = async ({ id, number }: App.Invoice): Promise<void> => {
    try {
      saveBlob(await app.blob('/app/payments/invoices/{invoiceId}/pdf', { path: { invoiceId: id } }), `${number}.pdf`)
    } catch (error) {
      showError(error)
    }
  }
  return (
    <Card title={text.invoices} isFlush>
      <Paged<App.Invoice>
        queryKey={['invoices']}
        read={(cursor) =>
          app.request('GET', '/app/payments/invoices', { query: cursor === undefined ? {} : { cursor } })
        }
        empty={<Empty title={text.noInvoices} />}
      >
        {(invoices) => (
          <Table
            label={text.invoices}
            rows={invoices}
            keyOf={({ id }) => id}
            columns={[
              { name: text.number, cell: ({ number }) => number },
              { name: text.kind, cell: ({ kind }) => text.kinds[kind] },
              { name: text.date, cell: ({ issuedAt }) => format.date(issuedAt) },
              { name: text.amount, isNumber: true, cell: ({ total, currency }) => format.money(total, currency) },
              {
                name: text.actions,
                isNameHidden: true,
                cell: (invoice) => (
                  <Button size="small" onPress={() => void download(invoice)} aria-label={text.pdfOf(invoice.number)}>
                    PDF
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}
