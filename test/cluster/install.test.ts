// An installation as a user makes it: with no values, in a namespace where Pod Security enforces `restricted`. The
// output says how long each step took.
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { chartDir, findMissing, run, runOrThrow } from './helm.ts'

const namespace = `matte-chart-${randomBytes(3).toString('hex')}`
const kubectl = (...args: string[]): Promise<string> => runOrThrow('kubectl', ['-n', namespace, ...args])
const helm = (...args: string[]): Promise<string> => runOrThrow('helm', [...args, '-n', namespace])
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const secondsSince = (begun: number): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`

/** A pod of the image, beside the service; it ends by itself. */
async function startLoad(name: string, count: number): Promise<void> {
  const image = await kubectl('get', 'deploy/matte-api', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: testLabels },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'load',
          image,
          args: ['try', '--count', String(count), '--at-once', '3'],
          env: [
            { name: 'MATTE_API_ORIGIN', value: 'http://matte' },
            { name: 'MATTE_API_KEY', valueFrom: { secretKeyRef: { name: 'matte-secrets', key: 'MATTE_API_KEY' } } },
          ],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
  await runOrThrow('kubectl', ['-n', namespace, 'apply', '-f', '-'], JSON.stringify(pod))
  await kubectl('wait', `pod/${name}`, '--for=condition=Ready', '--timeout=60s')
}

const testLabels = {
  'app.kubernetes.io/name': 'matte',
  'app.kubernetes.io/instance': 'matte',
  'app.kubernetes.io/component': 'test',
}

type Line = { readonly taskId?: string; readonly error?: string }

/** What the client saw, once it has ended. */
async function endLoad(name: string): Promise<readonly Line[]> {
  await kubectl('wait', `pod/${name}`, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=400s')
  const log = await kubectl('logs', name)
  await kubectl('delete', 'pod', name)
  return log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

const untilServing = async (): Promise<void> => {
  await kubectl('rollout', 'status', 'deploy/matte-api', '--timeout=180s')
  await kubectl('rollout', 'status', 'deploy/matte-controller', '--timeout=180s')
  await kubectl('rollout', 'status', 'deploy/matte-dispatcher', '--timeout=180s')
  await kubectl('wait', 'tritonpool', '--all', '--for=condition=Ready', '--timeout=180s')
}

describe.skipIf(findMissing('cluster'))('an installation with no values', () => {
  afterAll(async () => {
    await run('helm', ['uninstall', 'matte', '-n', namespace])
    await run('kubectl', ['delete', 'namespace', namespace, '--wait=true', '--timeout=120s'])
  })

  it('serves, and passes its own test', async () => {
    const begun = performance.now()
    await runOrThrow('kubectl', ['create', 'namespace', namespace])
    await runOrThrow('kubectl', ['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'])
    await helm('install', 'matte', chartDir)
    await kubectl('wait', 'deploy', '--all', '--for=condition=Available', '--timeout=180s')
    const available = secondsSince(begun)
    // The setup Job makes the pool.
    await kubectl('wait', 'job', '--all', '--for=condition=Complete', '--timeout=180s')
    await untilServing()
    const ready = secondsSince(begun)
    expect(await helm('test', 'matte', '--logs')).toContain('webhook received, its signature is right')
    print(
      `install: available after ${available}, a pod of the pool after ${ready}, tested after ${secondsSince(begun)}`,
    )
  })

  it('removes a background by the commands of its notes', async () => {
    const key = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data.MATTE_API_KEY}')
    const apiKey = Buffer.from(key, 'base64').toString()
    const { stderr, failed } = await run('kubectl', [
      ...['-n', namespace, 'exec', 'deploy/matte-api', '--', 'matte', 'try', '--key', apiKey],
    ])
    expect(stderr).toContain('background removed in')
    expect(failed).toBe(false)
  })

  it('keeps everybody else out', async () => {
    const reach = (host: string, port: number): string =>
      `const end = (what) => { console.log(what); process.exit() }; ` +
      `require('net').connect({ port: ${port}, host: '${host}', timeout: 3000 }, () => end('open'))` +
      `.on('timeout', () => end('dropped')).on('error', ({ code }) => end(code))`
    const from = async (component: string, host: string, port: number): Promise<string> =>
      (await kubectl('exec', `deploy/matte-${component}`, '--', 'node', '-e', reach(host, port))).trim()
    expect(await from('api', 'matte-postgresql', 5432)).toBe('open')
    expect(await from('dispatcher', 'matte-postgresql', 5432)).toBe('open')
    expect(await from('dispatcher', 'matte-object-store', 7070)).toBe('dropped')
    expect(await from('api', 'matte-nats', 8222)).toBe('dropped')
    expect(await from('dispatcher', 'kubernetes.default', 443)).toBe('dropped')
  })

  it('is upgraded and rolled back under load without an error that a caller sees', async () => {
    await startLoad('load-upgrade', 120)
    await helm(
      'upgrade',
      'matte',
      chartDir,
      '--set',
      'api.resources.requests.cpu=110m',
      '--set',
      'dispatcher.resources.requests.cpu=60m',
    )
    await untilServing()
    await helm('rollback', 'matte', '1')
    await untilServing()
    await kubectl('rollout', 'restart', 'deploy/matte-controller')
    await untilServing()
    const lines = await endLoad('load-upgrade')
    expect(lines.filter(({ error }) => error !== undefined)).toEqual([])
    expect(new Set(lines.map(({ taskId }) => taskId)).size).toBe(120)
  })

  it('goes on after each of its pods was killed, and makes no secret again', async () => {
    const secret = await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')
    const owners = ['deploy/matte-api', 'deploy/matte-controller', 'deploy/matte-dispatcher']
    owners.push('sts/matte-postgresql', 'sts/matte-nats', 'sts/matte-object-store')
    for (const owner of owners) {
      const selector = `app.kubernetes.io/component=${owner.replace(/^.*matte-/, '')}`
      await kubectl('delete', 'pod', '-l', selector, '--grace-period=0', '--force', '--wait=true')
      await kubectl('rollout', 'status', owner, '--timeout=180s')
    }
    await untilServing()
    expect(await helm('test', 'matte', '--logs')).toContain('background removed in')
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'jsonpath={.data}')).toBe(secret)
  })

  it('leaves its volumes, its secret and the definition behind, and nothing that runs', async () => {
    await helm('uninstall', 'matte', '--wait')
    // But the test's own pod, which Helm leaves.
    await kubectl('wait', 'pod', '-l', 'app.kubernetes.io/component!=test', '--for=delete', '--timeout=120s')
    expect(await kubectl('get', 'pvc', '-o', 'name')).toMatch(/postgresql-0[\s\S]*|object-store-0/)
    expect(await kubectl('get', 'secret', 'matte-secrets', '-o', 'name')).toContain('matte-secrets')
    expect(await kubectl('get', 'tritonpools', '-o', 'name')).toBe('')
  })
})
