import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Session } from '../session/session.ts'
import { useApp, useSessionStore } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { SelectField } from '../ui/field.tsx'
import { showError } from '../ui/toasts.tsx'
import { shellText } from './shell-text.ts'
import styles from './workspace-switch.module.css'

/** Shown to members of more than one workspace. */
export function WorkspaceSwitch({ session }: { readonly session: Extract<Session, { readonly kind: 'member' }> }) {
  const app = useApp()
  const store = useSessionStore()
  const queries = useQueryClient()
  const text = useText(shellText)
  const { data } = useQuery({
    queryKey: ['workspaces'],
    queryFn: () => app.list('/app/users/workspaces').all(),
  })
  if (data === undefined || data.length < 2) return null
  const switchTo = async (workspaceId: string): Promise<void> => {
    try {
      const body = { session: 'cookie' } as never
      const path = { workspaceId }
      const { accessToken } = await app.request('POST', '/app/users/workspaces/{workspaceId}/switch', { path, body })
      queries.clear()
      store.switchTo(accessToken)
    } catch (error) {
      showError(error)
    }
  }
  return (
    <div className={styles.switch}>
      <SelectField
        label={text.workspaceSwitch}
        isLabelHidden
        value={session.workspaceId}
        onChange={(id) => void switchTo(id)}
        choices={data.map(({ id, name }) => ({ value: id, label: name }))}
      />
    </div>
  )
}
