import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card } from '../../ui/page.tsx'
import { More, usePages } from '../../ui/pages.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

/** Names of operations are those of the API, as its documents and logs have them. */
export function AuditTab({ teamId }: { readonly teamId: string }) {
  const { audit: text } = useText(teamText)
  const app = useApp()
  const format = useFormat()
  const entries = usePages(['team', teamId, 'audit'], (query, signal) =>
    app.request('GET', '/app/teams/{teamId}/audit-log', { path: { teamId }, query, signal }),
  )
  return (
    <Card title={text.title} isFlush>
      <Loaded query={entries} lines={8}>
        {(items) =>
          items.length === 0 ? (
            <Empty title={text.none} />
          ) : (
            <Table
              label={text.title}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { name: text.at, cell: ({ at }) => format.dateTime(at) },
                { name: text.actor, cell: ({ actorName }) => actorName ?? text.operator },
                {
                  name: text.action,
                  cell: ({ action, reason }) => (
                    <span className={styles.person}>
                      <code>{action}</code>
                      {reason !== null && <span className={styles.soft}>{reason}</span>}
                    </span>
                  ),
                },
                { name: text.target, cell: ({ target }) => (target === null ? '–' : <code>{target}</code>) },
                { name: text.address, cell: ({ ipAddress }) => ipAddress ?? '–' },
              ]}
            />
          )
        }
      </Loaded>
      {entries.more !== undefined && (
        <div className={styles.inset}>
          <More more={entries.more} />
        </div>
      )}
    </Card>
  )
}
