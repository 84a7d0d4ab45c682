// The workspace `local` on plan `internal`, and its key in `.local/env`: made once, and again only when the key that
// is there does not open this service (its database was removed or exchanged).
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './install/run-command.ts'
import { type Layout, rootDir } from './paths.ts'
import { type Say, sayWhile } from './say.ts'
import { writePrivately } from './secrets.ts'
import { nodePath } from './servers/process.ts'

type FirstWorkspaceOptions = {
  readonly layout: Layout
  readonly apiUrl: string
  /** With `DATABASE_URL`, for `matte-admin`. */
  readonly env: NodeJS.ProcessEnv
  readonly say: Say
}

export async function ensureFirstWorkspace({ layout, apiUrl, env, say }: FirstWorkspaceOptions): Promise<void> {
  const baseUrl = `${apiUrl}/api/v1`
  const known = readKey(layout.envFile)
  const apiKey = known !== undefined && (await opens(baseUrl, known)) ? known : await createWorkspace(env, say)
  writePrivately(layout.envFile, `MATTE_BASE_URL=${baseUrl}\nMATTE_API_KEY=${apiKey}\n`)
}

function readKey(envFile: string): string | undefined {
  if (!existsSync(envFile)) return undefined
  return /^MATTE_API_KEY=(\S+)$/m.exec(readFileSync(envFile, 'utf8'))?.[1]
}

/** @throws Error when the service answers neither yes nor no */
async function opens(baseUrl: string, apiKey: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/open/developer/tasks?pageSize=1`, {
    headers: { 'x-api-key': apiKey },
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  if (response.status >= 500) throw new Error(`the service answered ${response.status} to a list of tasks`)
  return response.status !== 401
}

async function createWorkspace(env: NodeJS.ProcessEnv, say: Say): Promise<string> {
  const admin = join(rootDir, 'api/src/admin/main.ts')
  const args = [admin, 'workspace', 'create', '--name', 'local', '--plan', 'internal', '--json']
  const output = await sayWhile(say, 'making the workspace "local"', () => runCommand(nodePath, args, { env }))
  const { apiKey } = JSON.parse(output) as { apiKey?: unknown }
  if (typeof apiKey !== 'string') throw new Error('matte-admin workspace create printed no apiKey')
  return apiKey
}
