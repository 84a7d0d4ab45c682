import { useEffect, useSyncExternalStore } from 'react'
import { useSession, useSessionStore } from '../../session/use-session.ts'
import type { Run } from './run-progress.ts'
import { createRuns, type Runs } from './runs.ts'

/** One per tab: runs outlive the page that started them. */
const runs = createRuns()

export type UsedRuns = {
  readonly runs: Runs
  readonly list: readonly Run[]
  readonly scope: () => Promise<string>
}

export function useRuns(): UsedRuns {
  const store = useSessionStore()
  const session = useSession()
  const list = useSyncExternalStore(runs.subscribe, runs.get)
  const scope = async (): Promise<string> =>
    session.kind === 'member' ? `workspace ${session.workspaceId}` : `key ${await fingerprint(store.apiKey() ?? '')}`
  const scopeHint = session.kind === 'member' ? session.workspaceId : session.kind
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scope changes with the hint
  useEffect(() => {
    // A browser that refuses storage, as some private windows do, still runs new folders until a reload.
    void scope()
      .then(runs.load)
      .catch(() => undefined)
  }, [scopeHint])
  const isRunning = list.some(({ state }) => state === 'running')
  useEffect(() => {
    if (!isRunning) return
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [isRunning])
  return { runs, list, scope }
}

/** Tells keys apart without storing one. */
async function fingerprint(key: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return Array.from(new Uint8Array(digest).slice(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
