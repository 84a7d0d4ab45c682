// Creates the workspace `local` on plan `internal` and writes its key to `.local/env`, unless the key there still
// works. Webhooks of a new installation may go to receivers on this machine.
import { join } from 'node:path'
import { readEnvKey, writeEnvFile } from './env-file.ts'
import { runCommand } from './install/run-command.ts'
import { type Layout, rootDir } from './paths.ts'
import { type Say, sayWhile } from './say.ts'
import { nodePath } from './servers/process.ts'

type FirstWorkspaceOptions = {
  readonly layout: Layout
  readonly apiUrl: string
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
}

export async function ensureFirstWorkspace({ layout, apiUrl, env, say }: FirstWorkspaceOptions): Promise<void> {
  const baseUrl = `${apiUrl}/api/v1`
  const known = readEnvKey(layout.envFile)
  const apiKey = known !== undefined && (await opens(baseUrl, known)) ? known : await createWorkspace(env, say)
  writeEnvFile(layout.envFile, { baseUrl, apiKey })
}

async function opens(baseUrl: string, apiKey: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/open/developer/tasks?pageSize=1`, {
    headers: { 'x-api-key': apiKey },
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  if (response.status >= 500) throw new Error(`the service returned ${response.status} for GET /tasks`)
  return response.status !== 401
}

/** Everything listens on the loopback interface, so only programs of this machine can ask for these webhooks. */
const localReceivers = '127.0.0.1:* localhost:*'

async function createWorkspace(env: NodeJS.ProcessEnv, say: Say): Promise<string> {
  const admin = (...args: string[]) => runCommand(nodePath, [join(rootDir, 'api/src/admin/main.ts'), ...args], { env })
  const [output] = await sayWhile(say, 'creating the workspace "local"', () =>
    Promise.all([
      admin('workspace', 'create', '--name', 'local', '--plan', 'internal', '--json'),
      admin('setting', 'set', 'webhooks.allowedTargets', localReceivers),
    ]),
  )
  const { apiKey } = JSON.parse(output) as { apiKey?: unknown }
  if (typeof apiKey !== 'string') throw new Error('matte-admin workspace create printed no apiKey')
  return apiKey
}
