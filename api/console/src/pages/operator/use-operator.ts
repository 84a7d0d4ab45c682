import { useQuery } from '@tanstack/react-query'
import { useApp } from '../../session/use-session.ts'

const soonMs = 5_000
const laterMs = 15_000

/** Figures are read again every five seconds while the page is visible. */
export function useOverview() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'overview'],
    queryFn: ({ signal }) => app.request('GET', '/operator/overview', { signal }),
    refetchInterval: soonMs,
  })
}

export function usePools() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'pools'],
    queryFn: ({ signal }) => app.request('GET', '/operator/pools', { signal }),
    refetchInterval: soonMs,
  })
}

type PoolName = { readonly namespace: string; readonly name: string }

export function useSamples({ namespace, name }: PoolName) {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'samples', namespace, name],
    queryFn: ({ signal }) =>
      app.request('GET', '/operator/pools/{namespace}/{name}/samples', {
        path: { namespace, name },
        query: { minutes: 60 },
        signal,
      }),
    refetchInterval: laterMs,
  })
}

export function useRollouts() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'rollouts'],
    queryFn: ({ signal }) => app.request('GET', '/operator/rollouts', { signal }),
    refetchInterval: laterMs,
  })
}

export function useWorkspaces() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'workspaces'],
    queryFn: ({ signal }) => app.request('GET', '/operator/workspaces', { query: { limit: 50 }, signal }),
    refetchInterval: laterMs,
  })
}

export function useFailingEndpoints() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'endpoints'],
    queryFn: ({ signal }) => app.request('GET', '/operator/endpoints/failing', { signal }),
    refetchInterval: laterMs,
  })
}

export function useOverdue() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'overdue'],
    queryFn: ({ signal }) => app.request('GET', '/operator/overdue', { signal }),
    refetchInterval: laterMs,
  })
}

export function useInvariants() {
  const app = useApp()
  return useQuery({
    queryKey: ['operator', 'invariants'],
    queryFn: ({ signal }) => app.request('GET', '/operator/invariants', { signal }),
    refetchInterval: 4 * laterMs,
  })
}
