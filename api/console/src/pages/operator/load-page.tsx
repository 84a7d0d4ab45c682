import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { operatorText } from './operator-text.ts'
import { RunbookLink } from './runbook-link.tsx'
import { useFailingEndpoints, useWorkspaces } from './use-operator.ts'

/** Workspaces by load, and webhook endpoints that fail. */
export function LoadPage() {
  const text = useText(operatorText)
  const format = useFormat()
  const workspaces = useWorkspaces()
  const endpoints = useFailingEndpoints()
  return (
    <Page title={text.load} lede={text.loadLede}>
      <Card title={text.workspaces} isFlush>
        <Loaded query={workspaces} lines={6}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={text.noWorkspaces} />
            ) : (
              <Table
                label={text.workspaces}
                rows={items}
                keyOf={({ id }) => id}
                columns={[
                  { name: text.workspace, cell: ({ name }) => name },
                  { name: text.plan, cell: ({ plan }) => plan },
                  { name: text.queued, isNumber: true, cell: ({ queued }) => format.number(queued) },
                  { name: text.processing, isNumber: true, cell: ({ processing }) => format.number(processing) },
                  { name: text.lastHour, isNumber: true, cell: (one) => format.number(one.tasksLastHour) },
                  { name: text.failedLastHour, isNumber: true, cell: (one) => format.number(one.failedLastHour) },
                ]}
              />
            )
          }
        </Loaded>
      </Card>
      <Card title={text.failingEndpoints} isFlush>
        <Loaded query={endpoints}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={text.noFailingEndpoints} />
            ) : (
              <Table
                label={text.failingEndpoints}
                rows={items}
                keyOf={({ id }) => id}
                columns={[
                  { name: text.host, cell: ({ targetHost }) => targetHost },
                  { name: text.workspace, cell: ({ workspaceName }) => workspaceName },
                  { name: text.failingSince, cell: ({ failingSince }) => format.dateTime(failingSince) },
                  { name: text.waiting, isNumber: true, cell: (one) => format.number(one.waitingDeliveries) },
                  { name: text.dropped, isNumber: true, cell: (one) => format.number(one.droppedDeliveries) },
                  { name: text.runbook, cell: ({ runbook }) => <RunbookLink name={runbook} /> },
                ]}
              />
            )
          }
        </Loaded>
      </Card>
    </Page>
  )
}
