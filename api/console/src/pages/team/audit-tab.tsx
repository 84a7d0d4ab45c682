import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Card } from '../../ui/page.tsx'
import { Paged } from '../../ui/paged.tsx'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { actorOf } from './audit-actor.ts'
import { auditWords, wordsOf } from './audit-words.ts'
import styles from './team.module.css'
import { teamText } from './team-text.ts'

/** The name under the words is that of the API, as its documents and logs have it. */
export function AuditTab({ teamId }: { readonly teamId: string }) {
  const { audit: text } = useText(teamText)
  const words = useText(auditWords)
  const app = useApp()
  const format = useFormat()
  return (
    <Card title={text.title} isFlush>
      <Paged
        queryKey={['team', teamId, 'audit']}
        read={(cursor) => {
          const query = { ...(cursor !== undefined && { cursor }) }
          return app.request('GET', '/app/teams/{teamId}/audit-log', { path: { teamId }, query })
        }}
        empty={<Empty title={text.none} />}
      >
        {(items) => (
          <Table
            label={text.title}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { name: text.at, cell: ({ at }) => format.dateTime(at) },
              { name: text.actor, cell: (entry) => actorOf(text, entry) },
              {
                name: text.action,
                cell: ({ action, reason }) => (
                  <span className={styles.person}>
                    {wordsOf(words, action)}
                    <code className={styles.soft}>{action}</code>
                    {reason !== null && <span className={styles.soft}>{reason}</span>}
                  </span>
                ),
              },
              { name: text.target, cell: ({ target }) => (target === null ? '–' : <code>{target}</code>) },
              { name: text.address, cell: ({ ipAddress }) => ipAddress ?? '–' },
            ]}
          />
        )}
      </Paged>
    </Card>
  )
}
