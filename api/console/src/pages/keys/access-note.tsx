import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApp, useSession } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import styles from './keys.module.css'
import { keysText } from './keys-text.ts'

/** Says before a key is made that the plan refuses keys, and how to get one that does not. */
export function AccessNote() {
  const app = useApp()
  const session = useSession()
  const text = useText(keysText)
  const { data: settings } = useQuery(settingsQuery)
  const workspaceId = session.kind === 'member' ? session.workspaceId : ''
  const { data: own } = useQuery({
    queryKey: ['own-subscription', workspaceId],
    queryFn: ({ signal }) => app.request('GET', '/app/users/subscription', { signal }),
  })
  if (own === undefined || own.limits.apiAccess) return null
  const pays = session.kind === 'member' && ['owner', 'billing'].includes(session.role)
  return (
    <div role="note" className={styles.access}>
      <p className={styles.accessTitle}>{text.noAccess(own.plan)}</p>
      {settings?.payments === 'none' ? (
        <p>
          {text.askOperator} <code>{`matte-admin workspace plan --workspace ${own.workspaceId} --plan PLAN`}</code>
        </p>
      ) : (
        <p>{pays ? <Link to="/billing">{text.choosePlan}</Link> : text.askOwner}</p>
      )}
    </div>
  )
}
