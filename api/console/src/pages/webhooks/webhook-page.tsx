import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { WebhookEndpoint } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Secret } from '../../ui/copy.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Card, Facts, Page, Row, Stack } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { showError, showNote, showProblem } from '../../ui/toasts.tsx'
import { DeliveryLog } from './delivery-log.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { EndpointStats } from './endpoint-stats.tsx'
import { RecoverDialog } from './recover-dialog.tsx'
import { SampleDialog } from './sample-dialog.tsx'
import { EndpointState, endpointsKey } from './webhooks-page.tsx'
import { webhooksText } from './webhooks-text.ts'

/** One endpoint: test, samples, figures, deliveries, secret. */
export function WebhookPage() {
  const { webhookId } = useParams({ from: '/_signed/webhooks/$webhookId' })
  const service = useService()
  const text = useText(webhooksText)
  const endpoint = useQuery({
    queryKey: [...endpointsKey, webhookId],
    queryFn: () => service.webhooks.get(webhookId),
  })
  return (
    <Page title={endpoint.data?.targetUrl ?? text.endpoint} lede={endpoint.data?.description ?? undefined}>
      <Loaded query={endpoint} lines={6}>
        {(data) => (
          <>
            <Overview endpoint={data} />
            <EndpointStats webhookId={data.id} />
            <DeliveryLog webhookId={data.id} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

type DialogName = 'edit' | 'sample' | 'recover' | 'rotate' | 'delete'

function Overview({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const service = useService()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const text = useText(webhooksText)
  const format = useFormat()
  const [dialog, setDialog] = useState<DialogName>()
  const [secret, setSecret] = useState<string>()
  const [isTesting, setIsTesting] = useState(false)
  const { id, status } = endpoint
  const key = [...endpointsKey, id]
  const close = (): void => setDialog(undefined)
  const reload = (): void => void queries.invalidateQueries({ queryKey: endpointsKey })

  const test = async (): Promise<void> => {
    setIsTesting(true)
    try {
      const { attempts } = await service.webhooks.test(id)
      const last = attempts.at(-1)
      if (last?.error == null) showNote(text.testDelivered(format.duration(last?.durationMs ?? 0)))
      else showProblem(text.testFailed(text.attemptErrors[last.error], last.statusCode))
    } catch (error) {
      showError(error)
    } finally {
      setIsTesting(false)
      void queries.invalidateQueries({ queryKey: ['deliveries', id] })
      void queries.invalidateQueries({ queryKey: ['webhook-stats', id] })
      reload()
    }
  }
  /** Shown at once; the state of before comes back if the service refuses. */
  const toggle = async (): Promise<void> => {
    const next = status === 'enabled' ? 'disabled' : 'enabled'
    queries.setQueryData(key, { ...endpoint, status: next, disabledReason: next === 'disabled' ? 'OWNER' : null })
    try {
      queries.setQueryData(key, await service.webhooks.update(id, { status: next }))
    } catch (error) {
      queries.setQueryData(key, endpoint)
      showError(error)
    }
  }
  return (
    <Card
      actions={
        <Row>
          <Button look="primary" isPending={isTesting} onPress={() => void test()}>
            {text.test}
          </Button>
          <Button onPress={() => setDialog('sample')}>{text.sample}</Button>
          <Button onPress={() => setDialog('recover')}>{text.recover}</Button>
          <Menu
            label={text.actions}
            trigger="…"
            actions={[
              { id: 'edit', label: text.edit, onAction: () => setDialog('edit') },
              {
                id: 'toggle',
                label: status === 'enabled' ? text.disable : text.enable,
                onAction: () => void toggle(),
              },
              { id: 'rotate', label: text.rotate, onAction: () => setDialog('rotate') },
              { id: 'delete', label: text.delete, isDanger: true, onAction: () => setDialog('delete') },
            ]}
          />
        </Row>
      }
    >
      <Stack>
        {secret !== undefined && (
          <>
            <p>{text.rotated}</p>
            <Secret value={secret} label={text.secret} />
          </>
        )}
        <Facts
          facts={[
            { name: text.state, value: <EndpointState endpoint={endpoint} /> },
            { name: text.events, value: endpoint.eventTypes.join(', ') || text.allEvents },
            { name: text.headers, value: Object.keys(endpoint.headers).join(', ') || '–' },
            { name: text.createdAt, value: format.dateTime(endpoint.createdAt) },
            ...(endpoint.pausedSince === null
              ? []
              : [{ name: text.pausedSince, value: format.dateTime(endpoint.pausedSince) }]),
            ...(endpoint.droppedDeliveries === 0
              ? []
              : [{ name: text.dropped, value: format.number(endpoint.droppedDeliveries) }]),
          ]}
        />
      </Stack>
      {dialog === 'edit' && <EndpointDialog endpoint={endpoint} onClose={close} onSaved={reload} />}
      {dialog === 'sample' && <SampleDialog webhookId={id} onClose={close} />}
      {dialog === 'recover' && <RecoverDialog endpoint={endpoint} onClose={close} />}
      {dialog === 'rotate' && (
        <ConfirmDialog
          title={text.rotateTitle}
          action={text.rotate}
          isOpen
          onClose={close}
          onConfirm={async () => setSecret((await service.webhooks.rotateSecret(id)).signingSecret)}
        >
          {text.rotateHint}
        </ConfirmDialog>
      )}
      {dialog === 'delete' && (
        <ConfirmDialog
          title={text.deleteTitle}
          action={text.delete}
          isOpen
          onClose={close}
          onConfirm={async () => {
            await service.webhooks.delete(id)
            reload()
            await navigate({ to: '/webhooks' })
          }}
        >
          {text.deleteHint}
        </ConfirmDialog>
      )}
    </Card>
  )
}
