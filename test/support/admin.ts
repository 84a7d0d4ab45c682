// matte-admin in this process. The commands of docs/operations and local mode run it as a program.
import { runAdmin } from '@matte/api/admin/run-admin'
import { envAs } from './roles.ts'

type Env = Readonly<Record<string, string>>

/** Error of a command that failed. */
export class AdminError extends Error {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  constructor(code: number, { stdout, stderr }: { readonly stdout: string; readonly stderr: string }) {
    super(`matte-admin ended with ${code}: ${stderr}`)
    this.code = code
    this.stdout = stdout
    this.stderr = stderr
  }
}

/** Commands about the database need its owner; the others run in the API's pod. */
const needsOwner = ([noun]: readonly string[]): boolean => noun === 'database'

/** Standard output of a command for a terminal. @throws AdminError */
export async function adminText(args: readonly string[], env: Env): Promise<string> {
  const stdout: string[] = []
  const stderr: string[] = []
  const code = await runAdmin(args, needsOwner(args) ? env : envAs('api', env), {
    stdout: { write: (text) => stdout.push(text) },
    stderr: { write: (text) => stderr.push(text) },
  })
  if (code !== 0) throw new AdminError(code, { stdout: stdout.join(''), stderr: stderr.join('') })
  return stdout.join('')
}

/** The object that a command prints with `--json`. @throws AdminError */
export const admin = async (args: readonly string[], env: Env): Promise<Record<string, unknown>> =>
  JSON.parse(await adminText([...args, '--json'], { MATTE_ENV: 'development', ...env })) as Record<string, unknown>
