import { useQuery } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useState } from 'react'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card, Facts, Row, Stack } from '../../ui/page.tsx'
import { ErrorNote, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import { billingText } from './billing-text.ts'
import { usePaymentChanged } from './use-payment-changed.ts'

export function SubscriptionCard() {
  const app = useApp()
  const text = useText(billingText)
  const subscription = useQuery({
    queryKey: ['subscription'],
    queryFn: () => app.request('GET', '/app/payments/subscription'),
  })
  return (
    <Card title={text.subscription}>
      <Loaded query={subscription}>{(data) => <Current subscription={data} />}</Loaded>
    </Card>
  )
}

function Current({ subscription }: { readonly subscription: App.Subscription }) {
  const app = useApp()
  const text = useText(billingText)
  const format = useFormat()
  const changed = usePaymentChanged()
  const [isCanceling, setIsCanceling] = useState(false)
  const resume = useAction(async () => {
    await app.request('POST', '/app/payments/subscription/resume')
    changed()
  })
  const cancel = async (): Promise<void> => {
    await app.request('POST', '/app/payments/subscription/cancel')
    changed()
  }
  const { status, plan, interval, periodEnd, cancelAtPeriodEnd, nextPlan, disputed } = subscription
  const isRunning = status === 'active' || status === 'past_due'
  return (
    <Stack>
      <Facts
        facts={[
          { name: text.plan, value: plan },
          {
            name: text.state,
            value: <Badge tone={status === 'past_due' ? 'bad' : 'neutral'}>{text.states[status]}</Badge>,
          },
          ...(interval === null ? [] : [{ name: text.interval, value: text.intervals[interval] }]),
          ...(periodEnd === null
            ? []
            : [{ name: cancelAtPeriodEnd ? text.endsOn : text.renewsOn, value: format.date(periodEnd) }]),
          ...(nextPlan === null ? [] : [{ name: text.nextPlan, value: nextPlan }]),
        ]}
      />
      {isRunning && disputed && <p>{text.disputedSubscription}</p>}
      {isRunning && (!disputed || !cancelAtPeriodEnd) && (
        <Row>
          <ChangePlan current={subscription} />
          {cancelAtPeriodEnd ? (
            <Button isPending={resume.isPending} onPress={() => void resume.run()}>
              {text.resume}
            </Button>
          ) : (
            <Button look="danger" onPress={() => setIsCanceling(true)}>
              {text.cancelSubscription}
            </Button>
          )}
        </Row>
      )}
      {resume.error !== undefined && <ErrorNote error={resume.error} />}
      {isCanceling && (
        <ConfirmDialog
          title={text.cancelTitle}
          action={text.cancelSubscription}
          isOpen
          onClose={() => setIsCanceling(false)}
          onConfirm={cancel}
        >
          {text.cancelHint}
        </ConfirmDialog>
      )}
    </Stack>
  )
}

/** Another plan or interval. The provider charges or credits the difference. */
function ChangePlan({ current }: { readonly current: App.Subscription }) {
  const app = useApp()
  const text = useText(billingText)
  const format = useFormat()
  const changed = usePaymentChanged()
  const { data: offers = [] } = useQuery({
    queryKey: ['plans'],
    queryFn: () => app.list('/app/payments/plans').all(),
  })
  const others = offers.filter(({ plan, interval }) => plan !== current.plan || interval !== current.interval)
  const [index, setIndex] = useState('')
  const keys = useRequestKey()
  const change = useAction(async () => {
    const offer = others[Number(index)]
    if (offer === undefined) return
    const body = { plan: offer.plan, interval: offer.interval }
    await app.request('POST', '/app/payments/subscription/change', { body, idempotencyKey: keys.keyFor(body) })
    keys.forget()
    setIndex('')
    changed()
  })
  if (others.length === 0) return null
  return (
    <>
      <SelectField
        label={text.changeTo}
        value={index}
        onChange={setIndex}
        choices={[
          { value: '', label: text.choosePlan },
          ...others.map(({ plan, interval, amount, currency }, at) => ({
            value: String(at),
            label: `${plan}, ${format.money(amount, currency)} ${text.intervals[interval]}`,
          })),
        ]}
      />
      <Button isDisabled={index === ''} isPending={change.isPending} onPress={() => void change.run()}>
        {text.change}
      </Button>
      {change.error !== undefined && <ErrorNote error={change.error} />}
    </>
  )
}
