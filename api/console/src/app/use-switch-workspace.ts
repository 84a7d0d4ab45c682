import { useApp, useSessionStore } from '../session/use-session.ts'

/** Selects a workspace in this browser. @throws MatteError */
export function useSwitchWorkspace(): (workspaceId: string) => Promise<void> {
  const app = useApp()
  const store = useSessionStore()
  return async (workspaceId) => {
    const body = { session: 'cookie' as const }
    const path = { workspaceId }
    const { accessToken } = await app.request('POST', '/app/users/workspaces/{workspaceId}/switch', { path, body })
    store.switchTo(accessToken)
  }
}
