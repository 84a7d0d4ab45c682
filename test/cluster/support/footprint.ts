// Resource use of an idle installation, measured by the cluster and by the processes.
import { run } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import type { Release } from './release.ts'

type Footprint = {
  readonly name: string
  readonly component: string
  /** Millicores and MiB. */
  readonly cpu: number
  readonly memory: number
  readonly cpuRequest: string
  readonly memoryRequest: string
  /** Resident megabytes of the process itself, for Matte's processes. */
  readonly resident?: number
}

type Resources = { readonly requests?: Readonly<Record<string, string>> }
type Pod = {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: { readonly containers: readonly { readonly resources?: Resources }[] }
  readonly status: {
    readonly phase: string
    readonly conditions: readonly { readonly type: string; readonly lastTransitionTime: string }[]
    readonly containerStatuses: readonly { readonly state: { readonly running?: { readonly startedAt: string } } }[]
  }
}

/** A pod's memory has settled if it changes by less than this between two measurements. */
const settledMi = 3

/** Returns when two consecutive measurements agree. Metrics arrive every ten to sixty seconds. */
export async function readFootprint(release: Release): Promise<readonly Footprint[]> {
  const pods = (await listPods(release)).filter(({ status }) => status.phase === 'Running')
  let before = new Map<string, readonly [cpu: number, memory: number]>()
  const measured = await until(
    'the use of the pods has settled',
    async () => {
      const now = await readTop(release)
      const isSettled = pods.every(({ metadata: { name } }) => {
        const [was, is] = [before.get(name), now.get(name)]
        return was !== undefined && is !== undefined && was !== is && isNear(was, is)
      })
      const changed = [...now].some(([name, use]) => String(before.get(name)) !== String(use))
      if (changed || before.size === 0) before = now
      return changed && isSettled ? now : undefined
    },
    { timeoutMs: 300_000, everyMs: 2_000 },
  )
  return Promise.all(pods.map((pod) => toFootprint(release, pod, measured.get(pod.metadata.name) ?? [0, 0])))
}

const isNear = (was: readonly [number, number], is: readonly [number, number]): boolean =>
  Math.abs(was[1] - is[1]) <= settledMi && is[0] < 100

async function listPods({ kubectl }: Release): Promise<readonly Pod[]> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: readonly Pod[] }
  return items
}

async function readTop({ namespace }: Release): Promise<Map<string, readonly [number, number]>> {
  const { stdout } = await run('kubectl', ['-n', namespace, 'top', 'pods', '--no-headers'])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/))
  return new Map(
    rows.map(([name = '', cpu, memory]) => [name, [Number.parseInt(cpu ?? '', 10), Number.parseInt(memory ?? '', 10)]]),
  )
}

async function toFootprint(release: Release, pod: Pod, [cpu, memory]: readonly [number, number]): Promise<Footprint> {
  const { name, labels = {} } = pod.metadata
  const component = labels['app.kubernetes.io/component'] ?? 'triton'
  const requests = pod.spec.containers[0]?.resources?.requests ?? {}
  const own = ['api', 'worker', 'operator', 'dispatcher'].includes(component)
  return {
    ...{ name, component, cpu, memory, cpuRequest: requests.cpu ?? '', memoryRequest: requests.memory ?? '' },
    ...(own && { resident: await readResident(release, name) }),
  }
}

/** Resident memory of the pod's largest process, which is Node.js. */
async function readResident({ kubectl }: Release, pod: string): Promise<number> {
  const text = await kubectl('exec', pod, '--', 'sh', '-c', 'grep -h VmRSS /proc/[0-9]*/status')
  const kilobytes = [...text.matchAll(/(\d+) kB/g)].map(([, number]) => Number(number))
  return Math.round((Math.max(...kilobytes) * 1_024) / 1_000_000)
}

/** Seconds from container start to Ready for each pod of these components. */
export async function readStarts(
  release: Release,
  components: readonly string[],
): Promise<readonly [string, number][]> {
  const pods = await listPods(release)
  return pods.flatMap(({ metadata: { name, labels = {} }, status }): [string, number][] => {
    const startedAt = status.containerStatuses[0]?.state.running?.startedAt
    const ready = status.conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime
    if (!components.includes(labels['app.kubernetes.io/component'] ?? '') || startedAt === undefined) return []
    return [[name, (Date.parse(ready ?? '') - Date.parse(startedAt)) / 1_000]]
  })
}
