// Starts, controls and reads the load client in the cluster.
import { until } from '../../support/until.ts'
import type { Line } from '../client/lines.ts'
import { createFiles, filesOfPod } from './load-files.ts'
import { buildPod, imageOf, testLabels } from './pod.ts'
import type { Release } from './release.ts'

type Progress = { readonly accepted: number; readonly ended: number; readonly phase: string }

export type Load = {
  readonly workspaceId: string
  /** Starts a phase. */
  phase(name: string): Promise<void>
  /** Returns when this many more tasks have ended. */
  untilMoreEnded(count: number): Promise<void>
  /** Stops the client and returns its log, once every task and webhook is accounted for or given up. */
  end(): Promise<readonly Line[]>
}

const pod = 'matte-load'
const loadLabel = 'matte.test/pod'
/** Selects the client's pod. */
export const loadSelector = `${loadLabel}=${pod}`
/** Far above the tasks of a run. */
export const credits = 100_000

export async function startLoad(release: Release, nodeName?: string): Promise<Load> {
  const { namespace, kubectl } = release
  const admin = ['exec', 'deploy/matte-api', '--', 'matte-admin']
  const asked = [
    'workspace',
    'create',
    '--name',
    'load',
    '--plan',
    'enterprise',
    '--credits',
    String(credits),
    '--json',
  ]
  const made = JSON.parse(await kubectl(...admin, ...asked)) as { workspaceId: string; apiKey: string }
  const callback = `${pod}.${namespace}.svc:9000`
  await kubectl(...admin, 'setting', 'set', 'webhooks.allowedTargets', callback)
  // Processes read settings every 5 s; new processes at start.
  await kubectl('rollout', 'restart', 'deploy/matte-api', 'deploy/matte-dispatcher')
  await release.untilServing()
  await startPod(release, { nodeName, apiKey: made.apiKey, callback })

  const command = async (path: string, method = 'POST'): Promise<Progress> => {
    const url = `http://127.0.0.1:9001/${path}`
    const script = `fetch('${url}', { method: '${method}' }).then(async (answer) => console.log(await answer.text()))`
    return JSON.parse(await kubectl('exec', pod, '--', 'node', '-e', script)) as Progress
  }
  const readEnded = async (): Promise<number> => (await command('', 'GET')).ended
  await until('the client takes commands', () => command('', 'GET'))
  return {
    workspaceId: made.workspaceId,
    phase: async (name) => void (await command(`phase/${encodeURIComponent(name)}`)),
    untilMoreEnded: async (count) => {
      const before = await readEnded()
      const ask = async (): Promise<boolean> => (await readEnded()) >= before + count
      await until(`${count} more tasks have ended`, ask, { timeoutMs: 300_000, everyMs: 500 })
    },
    end: async () => {
      await command('stop')
      await kubectl('wait', `pod/${pod}`, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=600s')
      const log = await kubectl('logs', pod)
      return log
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
    },
  }
}

type Start = { readonly apiKey: string; readonly callback: string; readonly nodeName: string | undefined }

async function startPod(release: Release, { apiKey, callback, nodeName }: Start): Promise<void> {
  // Labels of the `helm test` pod, so the policies allow traffic between it, the API and the dispatcher.
  const labels = { ...testLabels, [loadLabel]: pod }
  await createFiles(release)
  // By address, because draining a node may stop the cluster's name server.
  const address = await release.kubectl('get', 'service', 'matte', '-o', 'jsonpath={.spec.clusterIP}')
  await release.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: pod },
    spec: { clusterIP: 'None', selector: labels, ports: [{ port: 9_000 }] },
  })
  await release.create(
    buildPod({
      name: pod,
      image: await imageOf(release),
      labels,
      nodeName,
      command: ['node', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', '/client/main.ts'],
      env: [
        { name: 'MATTE_API_ORIGIN', value: `http://${address}` },
        { name: 'MATTE_API_KEY', value: apiKey },
        { name: 'CALLBACK_URL', value: `http://${callback}/` },
      ],
      ...filesOfPod,
    }),
  )
  await release.kubectl('wait', `pod/${pod}`, '--for=condition=Ready', '--timeout=60s')
}
