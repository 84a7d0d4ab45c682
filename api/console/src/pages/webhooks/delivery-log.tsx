import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { DeliveryStatus, WebhookDelivery, WebhookDeliveryDetails } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/copy.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card, Facts, Stack } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showNote } from '../../ui/toasts.tsx'
import { uiText } from '../../ui/ui-text.ts'
import { useAction } from '../../ui/use-action.ts'
import styles from './webhooks.module.css'
import { webhooksText } from './webhooks-text.ts'

/** An attempt can end at any moment. */
const openMs = 5_000

const statuses = ['pending', 'delivered', 'exhausted', 'canceled', 'paused'] as const

const tones = {
  pending: 'active',
  delivered: 'good',
  exhausted: 'bad',
  canceled: 'neutral',
  paused: 'warn',
} as const satisfies Record<DeliveryStatus, string>

/** Deliveries to one endpoint, newest first. */
export function DeliveryLog({ webhookId }: { readonly webhookId: string }) {
  const service = useService()
  const text = useText(webhooksText)
  const format = useFormat()
  const [status, setStatus] = useState<DeliveryStatus | ''>('')
  const [opened, setOpened] = useState<string>()
  const choices = statuses.map((value) => ({ value, label: text.deliveryStates[value] }))
  return (
    <Card
      title={text.deliveries}
      actions={
        <div className={styles.filters}>
          <SelectField
            label={text.state}
            isLabelHidden
            value={status}
            onChange={setStatus}
            choices={[{ value: '' as const, label: text.allStates }, ...choices]}
          />
        </div>
      }
      isFlush
    >
      <Paged<WebhookDelivery>
        queryKey={['deliveries', webhookId, status]}
        read={(cursor) => {
          const query = { pageSize: 50, ...(status !== '' && { status }), ...(cursor !== undefined && { cursor }) }
          return service.webhooks.deliveries(webhookId, query).page()
        }}
        empty={<Empty title={text.noDeliveries}>{text.noDeliveriesHint}</Empty>}
        isOpen={(delivery) => delivery.status === 'pending'}
      >
        {(deliveries) => (
          <Table
            label={text.deliveries}
            rows={deliveries}
            keyOf={({ id }) => id}
            columns={[
              { name: text.time, cell: ({ createdAt }) => format.dateTime(createdAt) },
              {
                name: text.event,
                cell: ({ event, sample }) => (
                  <>
                    <code>{event}</code> {sample && <Badge>{text.isSample}</Badge>}
                  </>
                ),
              },
              {
                name: text.state,
                cell: (delivery) => <Badge tone={tones[delivery.status]}>{text.deliveryStates[delivery.status]}</Badge>,
              },
              { name: text.attempts, isNumber: true, cell: ({ attemptCount }) => format.number(attemptCount) },
              {
                name: text.answer,
                cell: ({ attempts }) => {
                  const last = attempts.at(-1)
                  return last === undefined ? '–' : (last.statusCode ?? (last.error && text.attemptErrors[last.error]))
                },
              },
              {
                name: text.actions,
                isNameHidden: true,
                cell: ({ id }) => (
                  <Button size="small" onPress={() => setOpened(id)}>
                    {text.details}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Paged>
      {opened !== undefined && <DeliveryDialog deliveryId={opened} onClose={() => setOpened(undefined)} />}
    </Card>
  )
}

type DeliveryDialogProps = { readonly deliveryId: string; readonly onClose: () => void }

export function DeliveryDialog({ deliveryId, onClose }: DeliveryDialogProps) {
  const service = useService()
  const queries = useQueryClient()
  const text = useText(webhooksText)
  const ui = useText(uiText)
  const delivery = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: () => service.webhooks.delivery(deliveryId),
    refetchInterval: ({ state }) => state.data?.status === 'pending' && openMs,
  })
  const redeliver = useAction(async () => {
    await service.webhooks.redeliver(deliveryId)
    showNote(text.redelivering)
    void queries.invalidateQueries({ queryKey: ['deliveries'] })
    void queries.invalidateQueries({ queryKey: ['delivery', deliveryId] })
  })
  return (
    <Dialog title={text.delivery} isOpen onClose={onClose} isWide>
      <Loaded query={delivery} lines={8}>
        {(data) => <DeliveryDetails delivery={data} />}
      </Loaded>
      {redeliver.error !== undefined && <ErrorNote error={redeliver.error} />}
      <DialogActions>
        <Button onPress={onClose}>{ui.close}</Button>
        <Button look="primary" isPending={redeliver.isPending} onPress={() => void redeliver.run()}>
          {text.redeliver}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function DeliveryDetails({ delivery }: { readonly delivery: WebhookDeliveryDetails }) {
  const text = useText(webhooksText)
  const format = useFormat()
  const { event, status, taskId, requestBody, attempts, nextAttemptAt } = delivery
  const titleOf = ({ attempt, endedAt }: (typeof attempts)[number]): string =>
    text.attemptOf(format.number(attempt), format.dateTime(endedAt))
  return (
    <Stack>
      <Facts
        facts={[
          { name: text.event, value: <code>{event}</code> },
          { name: text.state, value: <Badge tone={tones[status]}>{text.deliveryStates[status]}</Badge> },
          ...(taskId === null
            ? []
            : [
                {
                  name: text.task,
                  value: (
                    <Link to="/tasks/$taskId" params={{ taskId }}>
                      {taskId}
                    </Link>
                  ),
                },
              ]),
          ...(nextAttemptAt === null ? [] : [{ name: text.nextAttempt, value: format.dateTime(nextAttemptAt) }]),
        ]}
      />
      <h3>{text.body}</h3>
      <CodeBlock code={pretty(requestBody)} label={text.body} />
      {attempts.toReversed().map((attempt) => (
        <section key={attempt.attempt} className={styles.attempt}>
          <Stack>
            <h3>{titleOf(attempt)}</h3>
            <p>
              {attempt.error === null
                ? text.answeredIn(attempt.statusCode ?? 0, format.duration(attempt.durationMs))
                : text.failedAfter(text.attemptErrors[attempt.error], format.duration(attempt.durationMs))}
            </p>
            {attempt.requestHeaders !== null && (
              <CodeBlock
                code={writeHeaders(attempt.requestHeaders)}
                label={`${text.requestHeaders}, ${titleOf(attempt)}`}
              />
            )}
            {attempt.responseHeaders !== null && (
              <CodeBlock
                code={writeHeaders(attempt.responseHeaders)}
                label={`${text.responseHeaders}, ${titleOf(attempt)}`}
              />
            )}
            {attempt.responseBody !== null && attempt.responseBody !== '' && (
              <CodeBlock code={attempt.responseBody} label={`${text.responseBody}, ${titleOf(attempt)}`} />
            )}
          </Stack>
        </section>
      ))}
    </Stack>
  )
}

const writeHeaders = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

/** JSON with indentation; anything else as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
