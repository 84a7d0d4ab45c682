import { useQuery } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useApp } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { SwitchField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { useChange } from '../../ui/use-change.ts'
import { eventText } from '../notifications/event-text.ts'
import styles from './account.module.css'
import { accountText } from './account-text.ts'

type Preferences = { readonly preferences: readonly App.NotificationPreference[] }
type Channel = { readonly event: App.EventName; readonly inApp?: boolean; readonly email?: boolean }

const queryKey = ['notifications', 'preferences']

/** One row per event; each switch takes effect at once. */
export function PreferencesTab() {
  const { preferences: text } = useText(accountText)
  const events: Readonly<Record<string, string>> = useText(eventText)
  const app = useApp()
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => app.request('GET', '/app/notifications/preferences', { signal }),
  })
  const change = useChange<Preferences, Channel>({
    queryKey,
    apply: ({ preferences }, changed) => ({
      preferences: preferences.map((one) => (one.event === changed.event ? { ...one, ...changed } : one)),
    }),
    send: (changed) => app.request('PUT', '/app/notifications/preferences', { body: { preferences: [changed] } }),
  })
  const nameOf = (event: string): string => events[event] ?? event
  return (
    <Card title={text.title} isFlush>
      <p className={styles.lede}>{text.lede}</p>
      <Loaded query={query} lines={10}>
        {({ preferences }) => (
          <Table
            label={text.title}
            rows={preferences}
            keyOf={({ event }) => event}
            columns={[
              { name: text.event, cell: ({ event }) => nameOf(event) },
              {
                name: text.inApp,
                cell: ({ event, inApp }) => (
                  <SwitchField isSelected={inApp} onChange={(isOn) => void change({ event, inApp: isOn })}>
                    <span className="visually-hidden">{text.inAppOf(nameOf(event))}</span>
                  </SwitchField>
                ),
              },
              {
                name: text.email,
                cell: ({ event, email, emailRequired }) => (
                  <span title={emailRequired ? text.required : undefined}>
                    <SwitchField
                      isSelected={email}
                      isDisabled={emailRequired}
                      onChange={(isOn) => void change({ event, email: isOn })}
                    >
                      <span className="visually-hidden">{text.emailOf(nameOf(event))}</span>
                    </SwitchField>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}
