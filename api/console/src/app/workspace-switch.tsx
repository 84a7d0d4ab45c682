import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { Session } from '../session/session.ts'
import { useApp } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { SelectField } from '../ui/field.tsx'
import { showError } from '../ui/toasts.tsx'
import { shellText } from './shell-text.ts'
import { useSwitchWorkspace } from './use-switch-workspace.ts'
import styles from './workspace-switch.module.css'

/** Shown to members of more than one workspace. */
export function WorkspaceSwitch({ session }: { readonly session: Extract<Session, { readonly kind: 'member' }> }) {
  const app = useApp()
  const switchWorkspace = useSwitchWorkspace()
  const text = useText(shellText)
  const navigate = useNavigate()
  const params = useParams({ strict: false })
  const { data } = useQuery({
    queryKey: ['workspaces'],
    queryFn: () => app.list('/app/users/workspaces').all(),
  })
  if (data === undefined || data.length < 2) return null
  const switchTo = async (workspaceId: string): Promise<void> => {
    try {
      await switchWorkspace(workspaceId)
      // A page about one record has none in the other workspace.
      if (Object.keys(params).length > 0) await navigate({ to: '/' })
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
