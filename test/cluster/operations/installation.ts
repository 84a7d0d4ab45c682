// An installation as assumed by docs/operations/: a release called matte in the namespace of the kube context. The
// context is a copy, so the user's is unchanged.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { chartDir, run, runOrThrow } from '../../chart/helm.ts'
import { openPage, type RunSection } from '../page/page.ts'
import { untilPoolsReady } from '../pools-ready.ts'

export type Installation = {
  readonly namespace: string
  kubectl(...args: string[]): Promise<string>
  helm(...args: string[]): Promise<string>
  page(name: string, env?: Record<string, string>): RunSection
  /** Removes a background; the task's id and the bytes of its result. */
  makeTask(apiKey?: string): Promise<Made>
  /** A task and its result as a caller reads them now; the error's status and code otherwise. */
  readTask(taskId: string, apiKey?: string): Promise<Made | { readonly error: string }>
  admin(...args: string[]): Promise<Record<string, unknown>>
  secret(key: string): Promise<string>
}

type Made = { readonly taskId: string; readonly status: string; readonly sha256: string }

/** Image under test, unless it is the chart's default. */
const tag = process.env.MATTE_IMAGE_TAG

/** In a namespace with restricted Pod Security; deleted after the file. */
export function useInstallation(): Installation {
  const namespace = `matte-day2-${randomBytes(3).toString('hex')}`
  const dir = mkdtempSync(join(tmpdir(), 'matte-operations-'))
  const env = { KUBECONFIG: join(dir, 'kubeconfig') }
  const installation = open({ namespace, dir, env })
  const { kubectl, helm } = installation
  let ownsDefinition = false

  beforeAll(async () => {
    writeFileSync(env.KUBECONFIG, await runOrThrow('kubectl', ['config', 'view', '--raw', '--flatten', '--minify']))
    await kubectl('config', 'set-context', '--current', `--namespace=${namespace}`)
    symlinkSync(join(chartDir, '..'), join(dir, 'charts'))
    ownsDefinition = (await kubectl('get', 'crd', 'tritonpools.matte.dev', '--ignore-not-found')) === ''
    await kubectl('create', 'namespace', namespace)
    await kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted')
    const image = tag === undefined ? [] : ['--set', `image.tag=${tag}`]
    // An existing CustomResourceDefinition belongs to another installation.
    await helm('install', 'matte', chartDir, '--set', `crds.enabled=${ownsDefinition}`, ...image)
    await untilServing(installation)
  })

  afterAll(async () => {
    await run('helm', ['uninstall', 'matte', '--wait', '--kubeconfig', env.KUBECONFIG])
    await run('kubectl', ['delete', 'namespace', namespace, '--wait=true', '--timeout=120s'])
    if (ownsDefinition) await run('kubectl', ['delete', 'crd', 'tritonpools.matte.dev', '--timeout=60s'])
    rmSync(dir, { recursive: true, force: true })
  })
  return installation
}

export async function untilServing({ kubectl }: Installation): Promise<void> {
  await kubectl('wait', 'deploy', '--all', '--for=condition=Available', '--timeout=300s')
  await kubectl('wait', 'job', '--all', '--for=condition=Complete', '--timeout=300s')
  await untilPoolsReady(kubectl)
}

type Where = { readonly namespace: string; readonly dir: string; readonly env: { readonly KUBECONFIG: string } }

function open({ namespace, dir, env }: Where): Installation {
  const kubectl = (...args: string[]) => runOrThrow('kubectl', [`--kubeconfig=${env.KUBECONFIG}`, ...args])
  const helm = (...args: string[]) => runOrThrow('helm', [...args, `--kubeconfig=${env.KUBECONFIG}`])
  const secret = async (key: string) => {
    const value = await kubectl('get', 'secret', 'matte-secrets', '-o', `jsonpath={.data.${key}}`)
    return Buffer.from(value, 'base64').toString()
  }
  const node = (script: string, ...args: string[]) =>
    kubectl('exec', 'deploy/matte-api', '-c', 'api', '--', 'node', '--input-type=module', '-e', script, ...args)
  const readTask = async (taskId: string, apiKey?: string) =>
    JSON.parse(await node(readTaskScript, taskId, apiKey ?? (await secret('MATTE_API_KEY'))))
  return {
    namespace,
    kubectl,
    helm,
    secret,
    readTask,
    page: (name, more = {}) => openPage(name, { dir, env: { ...env, ...more } }),
    makeTask: async (apiKey) => {
      const key = apiKey ?? (await secret('MATTE_API_KEY'))
      const args = ['exec', 'deploy/matte-api', '-c', 'api', '--', 'matte', 'try', '--count', '2', '--key', key]
      const [line = ''] = (await kubectl(...args)).split('\n')
      const { taskId, error } = JSON.parse(line) as { taskId?: string; error?: string }
      if (taskId === undefined) throw new Error(error)
      return readTask(taskId, key)
    },
    admin: async (...args) =>
      JSON.parse(await kubectl('exec', 'deploy/matte-api', '-c', 'api', '--', 'matte-admin', ...args, '--json')),
  }
}

/** Run in a pod of the API, where the origin of a fresh installation, http://localhost:8080, is itself. */
const readTaskScript = `
import { createHash } from 'node:crypto'
const [taskId, key] = process.argv.slice(-2)
const say = (answer) => console.log(JSON.stringify(answer))
const url = 'http://localhost:8080/api/v1/open/developer/tasks/' + taskId
const answer = await fetch(url, { headers: { 'x-api-key': key } })
const { data, error } = await answer.json()
if (data === undefined) say({ error: answer.status + ' ' + error.code })
else {
  const result = await fetch(data.resultUrl)
  const bytes = Buffer.from(await result.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  say(result.ok ? { taskId, status: data.status, sha256 } : { error: result.status + ' ' + bytes })
}`
