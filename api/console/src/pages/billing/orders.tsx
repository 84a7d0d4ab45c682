import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Menu, type MenuAction } from '../../ui/menu.tsx'
import { Card } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty, ErrorNote } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showError, showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import { billingText } from './billing-text.ts'
import { usePaymentChanged } from './use-payment-changed.ts'

const tones = {
  pending: 'warn',
  failed: 'bad',
  canceled: 'neutral',
  paid: 'good',
  partially_refunded: 'neutral',
  refunded: 'neutral',
} as const satisfies Record<App.Order['status'], string>

const disputeTones = { open: 'warn', won: 'neutral', lost: 'bad' } as const

export function Orders() {
  const app = useApp()
  const text = useText(billingText)
  const format = useFormat()
  const changed = usePaymentChanged()
  const [refunding, setRefunding] = useState<App.Order>()
  const cancel = async ({ id }: App.Order): Promise<void> => {
    try {
      await app.request('POST', '/app/payments/orders/{orderId}/cancel', { path: { orderId: id } })
      changed()
    } catch (error) {
      showError(error)
    }
  }
  const actionsOf = (order: App.Order): readonly MenuAction[] => {
    const { checkoutUrl, status, amount, refundedAmount, dispute } = order
    const isOpen = status === 'pending' || status === 'failed'
    const isReturned = dispute === 'open' || dispute === 'lost'
    const isPaid = (status === 'paid' || status === 'partially_refunded') && !isReturned
    return [
      ...(isOpen && checkoutUrl !== null
        ? [{ id: 'pay', label: text.pay, onAction: () => location.assign(checkoutUrl) }]
        : []),
      ...(isOpen
        ? [{ id: 'cancel', label: text.cancelOrder, isDanger: true, onAction: () => void cancel(order) }]
        : []),
      ...(isPaid && amount > refundedAmount
        ? [{ id: 'refund', label: text.refund, onAction: () => setRefunding(order) }]
        : []),
    ]
  }
  return (
    <Card title={text.orders} isFlush>
      <Paged<App.Order>
        queryKey={['orders']}
        read={(cursor) => app.request('GET', '/app/payments/orders', { query: cursor === undefined ? {} : { cursor } })}
        empty={<Empty title={text.noOrders} />}
      >
        {(orders) => (
          <Table
            label={text.orders}
            rows={orders}
            keyOf={({ id }) => id}
            columns={[
              { name: text.date, cell: ({ createdAt }) => format.dateTime(createdAt) },
              { name: text.description, cell: ({ description }) => description },
              { name: text.amount, isNumber: true, cell: ({ amount, currency }) => format.money(amount, currency) },
              {
                name: text.state,
                cell: (order) => <State order={order} />,
              },
              {
                name: text.actions,
                isNameHidden: true,
                cell: (order) => {
                  const actions = actionsOf(order)
                  return (
                    actions.length > 0 && (
                      <Menu label={text.actionsOf(order.description)} trigger="…" actions={actions} />
                    )
                  )
                },
              },
            ]}
          />
        )}
      </Paged>
      {refunding !== undefined && <RefundDialog order={refunding} onClose={() => setRefunding(undefined)} />}
    </Card>
  )
}

function State({ order }: { readonly order: App.Order }) {
  const { status, failure, dispute, disputedCredits } = order
  const text = useText(billingText)
  const format = useFormat()
  const count = format.number(disputedCredits)
  return (
    <>
      <Badge tone={tones[status]}>{text.orderStates[status]}</Badge> {failure}
      {dispute !== null && (
        <>
          <Badge tone={disputeTones[dispute]}>{text.disputes[dispute]}</Badge>{' '}
          {dispute === 'open' && text.heldCredits(count)}
          {dispute === 'lost' && text.takenCredits(count)}
        </>
      )}
    </>
  )
}

function RefundDialog({ order, onClose }: { readonly order: App.Order; readonly onClose: () => void }) {
  const app = useApp()
  const text = useText(billingText)
  const ui = useText(uiText)
  const format = useFormat()
  const changed = usePaymentChanged()
  const [reason, setReason] = useState('')
  const keys = useRequestKey()
  const refund = useAction(async () => {
    const body = { orderId: order.id, reason }
    const made = await app.request('POST', '/app/payments/refunds', { body, idempotencyKey: keys.keyFor(body) })
    showNote(text.refunded(format.money(made.amount, made.currency)))
    changed()
    onClose()
  }, ['reason'])
  return (
    <Dialog title={text.refund} isOpen onClose={onClose}>
      <Form onSubmit={refund.run}>
        <p>{text.refundHint}</p>
        <TextField
          label={text.reason}
          value={reason}
          onChange={setReason}
          error={refund.fieldError('reason')}
          isRequired
          autoFocus
        />
        {refund.error !== undefined && <ErrorNote error={refund.error} />}
        <DialogActions>
          <Button onPress={onClose}>{ui.cancel}</Button>
          <Button type="submit" look="danger" isPending={refund.isPending}>
            {text.refund}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
