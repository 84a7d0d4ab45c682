// Runs helm and kubectl commands against the current kube context.
import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { parseAllDocuments } from 'yaml'
import { matteImage, tritonImage } from '../image/image-names.ts'
import { reportSkip } from '../support/report/skips.ts'
import type { Manifest } from './manifest.ts'

export const chartDir = join(rootDir, 'charts/matte')

type Ran = { readonly stdout: string; readonly stderr: string; readonly failed: boolean }

/** Runs a program to its end; a failure is a result, not an exception. */
export async function run(program: string, args: readonly string[], input?: string | Buffer): Promise<Ran> {
  const running = promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024, timeout: 600_000 })
  if (input !== undefined) running.child.stdin?.end(input)
  try {
    return { ...(await running), failed: false }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as Partial<Ran>
    return { stdout, stderr: `${stderr}${stderr === '' ? String(error) : ''}`, failed: true }
  }
}

/** @throws Error with the program's output */
export async function runOrThrow(program: string, args: readonly string[], input?: string): Promise<string> {
  const { stdout, stderr, failed } = await run(program, args, input)
  if (failed) throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`)
  return stdout
}

/** Manifests rendered with these values, or Helm's error. */
export async function render(values: object = {}, args: readonly string[] = []) {
  const command = ['template', 'matte', chartDir, '-n', 'here', '-f', '-', ...args]
  const { stdout, stderr, failed } = await run('helm', command, JSON.stringify(values))
  const manifests = failed ? [] : parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest) ?? [])
  return { manifests, refusal: failed ? stderr : '' }
}

function has(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Images of an installation with default values. A node without one would wait for a registry. */
const images = [matteImage, tritonImage, 'postgres:15-bookworm', 'library/nats:2', 'versitygw:v1']

/** Reason why these tests cannot run, reported once each. */
export function findMissing(part: 'helm' | 'cluster'): string | undefined {
  const reason = part === 'helm' ? missingHelm() : (missingHelm() ?? missingCluster())
  if (reason !== undefined) reportSkip({ matching: part === 'helm' ? 'test/chart' : 'test/cluster', reason })
  return reason
}

const missingHelm = (): string | undefined => (has('helm', ['version']) ? undefined : 'helm is not in $PATH')

function missingCluster(): string | undefined {
  if (!has('kubectl', ['get', '--raw=/readyz', '--request-timeout=5s']))
    return 'there is no cluster in the kube context'
  const missing = listMissingImages()
  return missing.length === 0 ? undefined : `no node has ${missing.join(', ')}: see make images`
}

/** Images that no node reports. A kubelet reports a new image some seconds after it was loaded. */
export function listMissingImages(): string[] {
  const names = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.images[*].names}', '--request-timeout=5s']
  const known = execFileSync('kubectl', names, { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  return images.filter((image) => !known.includes(image))
}
