import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Task, WebhookDelivery } from 'matte-client'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showError, showNote } from '../../ui/toasts.tsx'
import styles from './task.module.css'
import { taskText } from './task-text.ts'
import { deliveriesKey, useMayReadWebhooks, useTaskDeliveries } from './use-task.ts'

export function TaskWebhooks({ task }: { readonly task: Task }) {
  const text = useText(taskText)
  const mayRead = useMayReadWebhooks()
  const deliveries = useTaskDeliveries(task)
  const hasEnded = task.completedAt !== null
  const note = !mayRead ? text.webhooksNeedRole : hasEnded ? undefined : text.webhooksLater
  const isTable = note === undefined && (deliveries.data?.length ?? 0) > 0
  return (
    <Card title={text.webhooks} isFlush={isTable}>
      {note !== undefined ? (
        <p className={styles.soft}>{note}</p>
      ) : (
        <Loaded query={deliveries} lines={2}>
          {(rows) =>
            rows.length === 0 ? (
              <p className={styles.soft}>{text.noWebhooks}</p>
            ) : (
              <Deliveries taskId={task.id} rows={rows} />
            )
          }
        </Loaded>
      )}
    </Card>
  )
}

const tones = { delivered: 'good', pending: 'active', exhausted: 'bad', paused: 'warn', canceled: 'neutral' } as const

function Deliveries({ taskId, rows }: { readonly taskId: string; readonly rows: readonly WebhookDelivery[] }) {
  const text = useText(taskText)
  const format = useFormat()
  const service = useService()
  const queries = useQueryClient()
  const redeliver = async (id: string): Promise<void> => {
    try {
      await service.webhooks.redeliver(id)
      showNote(text.redelivered)
    } catch (error) {
      showError(error)
    }
    await queries.invalidateQueries({ queryKey: deliveriesKey(taskId) })
  }
  return (
    <Table
      label={text.webhooks}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { name: text.event, cell: ({ event }) => <code>{event}</code> },
        {
          name: text.target,
          cell: ({ endpointId, targetUrl }) =>
            endpointId === null ? (
              targetUrl
            ) : (
              <Link to="/webhooks/$webhookId" params={{ webhookId: endpointId }}>
                {targetUrl}
              </Link>
            ),
        },
        { name: text.delivery, cell: ({ status }) => <Badge tone={tones[status]}>{text.statuses[status]}</Badge> },
        { name: text.attempts, isNumber: true, cell: ({ attemptCount }) => format.number(attemptCount) },
        {
          name: text.answer,
          cell: ({ attempts }) => {
            const last = attempts.at(-1)
            if (last === undefined) return '–'
            return `${last.statusCode ?? last.error ?? '–'}, ${format.duration(last.durationMs)}`
          },
        },
        {
          name: text.redeliver,
          isNameHidden: true,
          cell: ({ id, status }) =>
            status === 'pending' ? null : (
              <Button size="small" look="quiet" onPress={() => void redeliver(id)}>
                {text.redeliver}
              </Button>
            ),
        },
      ]}
    />
  )
}
