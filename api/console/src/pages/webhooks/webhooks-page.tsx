import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { WebhookEndpoint } from 'matte-client'
import { useState } from 'react'
import { useService } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Secret } from '../../ui/copy.tsx'
import { Card, Page, Stack } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Badge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { webhooksText } from './webhooks-text.ts'

export const endpointsKey = ['webhooks']

/** Endpoints of the workspace, and the addresses that webhooks come from. */
export function WebhooksPage() {
  const service = useService()
  const text = useText(webhooksText)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<{ readonly id: string; readonly secret: string }>()
  const endpoints = useQuery({ queryKey: endpointsKey, queryFn: () => service.webhooks.list().all() })
  return (
    <Page
      title={text.title}
      lede={text.lede}
      actions={
        <Button look="primary" onPress={() => setIsCreating(true)}>
          {text.create}
        </Button>
      }
    >
      {created !== undefined && (
        <Card title={text.secret}>
          <Stack>
            <p>{text.secretOnce}</p>
            <Secret value={created.secret} label={text.secret} />
            <div>
              <Button onPress={() => void navigate({ to: '/webhooks/$webhookId', params: { webhookId: created.id } })}>
                {text.openEndpoint}
              </Button>
            </div>
          </Stack>
        </Card>
      )}
      <Card isFlush>
        <Loaded query={endpoints} lines={4}>
          {(list) =>
            list.length === 0 ? <Empty title={text.none}>{text.noneHint}</Empty> : <EndpointTable endpoints={list} />
          }
        </Loaded>
      </Card>
      <Addresses />
      {isCreating && (
        <EndpointDialog
          onClose={() => setIsCreating(false)}
          onSaved={(endpoint) => {
            void queries.invalidateQueries({ queryKey: endpointsKey })
            if ('signingSecret' in endpoint && typeof endpoint.signingSecret === 'string') {
              setCreated({ id: endpoint.id, secret: endpoint.signingSecret })
            }
          }}
        />
      )}
    </Page>
  )
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly WebhookEndpoint[] }) {
  const text = useText(webhooksText)
  const format = useFormat()
  return (
    <Table
      label={text.title}
      rows={endpoints}
      keyOf={({ id }) => id}
      columns={[
        {
          name: text.address,
          cell: ({ id, targetUrl, description }) => (
            <>
              <Link to="/webhooks/$webhookId" params={{ webhookId: id }}>
                {targetUrl}
              </Link>
              {description !== null && <div>{description}</div>}
            </>
          ),
        },
        { name: text.events, cell: ({ eventTypes }) => eventTypes.join(', ') || text.allEvents },
        { name: text.state, cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
        {
          name: text.lastDelivery,
          cell: ({ lastDeliveryAt, lastDeliveryStatus }) =>
            lastDeliveryAt === null ? (
              text.never
            ) : (
              <>
                <Badge tone={lastDeliveryStatus === 'failed' ? 'bad' : 'good'}>
                  {lastDeliveryStatus === 'failed' ? text.failed : text.delivered}
                </Badge>{' '}
                {format.relative(lastDeliveryAt, Date.now())}
              </>
            ),
        },
      ]}
    />
  )
}

export function EndpointState({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const text = useText(webhooksText)
  if (endpoint.status === 'enabled') return <Badge tone="good">{text.enabled}</Badge>
  return <Badge tone="bad">{endpoint.disabledReason === 'FAILING' ? text.disabledFailing : text.disabled}</Badge>
}

function Addresses() {
  const service = useService()
  const text = useText(webhooksText)
  const addresses = useQuery({
    queryKey: ['webhook-addresses'],
    queryFn: () => service.webhooks.egressAddresses(),
  })
  return (
    <Card title={text.addresses}>
      <Loaded query={addresses} lines={1}>
        {({ known, addresses: list }) => <p>{known ? list.join(', ') : text.addressesUnknown}</p>}
      </Loaded>
    </Card>
  )
}
