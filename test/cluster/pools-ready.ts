// Waits for the pools of the values. The operator applies them, so a pool is missing right after an installation, and
// outdated right after an upgrade.
import { until } from '../support/until.ts'

type Kubectl = (...args: string[]) => Promise<string>

type Pool = {
  readonly metadata: { readonly generation: number }
  readonly spec: unknown
  readonly status?: { readonly conditions?: readonly Condition[] }
}
type Condition = { readonly type: string; readonly status: string; readonly observedGeneration?: number }

/** Returns when each pool matches the values and is Ready. */
export async function untilPoolsReady(kubectl: Kubectl): Promise<void> {
  const { data = {} } = JSON.parse(await kubectl('get', 'configmap', 'matte-pools', '-o', 'json')) as ConfigMap
  for (const [name, text] of Object.entries(data)) {
    const { replicas: _, ...wanted } = JSON.parse(text) as Record<string, unknown>
    await until(
      `pool ${name} is as in the values, and Ready`,
      async () => {
        const pool = JSON.parse(await kubectl('get', 'tritonpool', name, '-o', 'json')) as Pool
        return contains(pool.spec, wanted) && isReady(pool)
      },
      { timeoutMs: 300_000, everyMs: 500 },
    )
  }
}

type ConfigMap = { readonly data?: Readonly<Record<string, string>> }

function isReady({ metadata, status }: Pool): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === metadata.generation
}

/** Whether `whole` has each field of `part`. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part
  if (typeof whole !== 'object' || whole === null) return false
  return Object.entries(part).every(([key, value]) => contains((whole as Record<string, unknown>)[key], value))
}
