// Runs the command line as a process, as a user does.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export const mainPath = fileURLToPath(new URL('../main.ts', import.meta.url))

export type CliRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type CliOptions = {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string | Buffer
}

export type StartedCli = { readonly process: ChildProcess; readonly ended: Promise<CliRun> }

const compileCache = join(tmpdir(), 'matte-compile-cache')

/** A fresh folder below that of the run. */
export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'matte-cli-'))

export function startCli(args: readonly string[], { env = {}, cwd = newFolder(), input }: CliOptions = {}): StartedCli {
  const { PATH = '', TMPDIR = tmpdir() } = process.env
  const child = spawn(process.execPath, [mainPath, ...args], {
    cwd,
    env: { PATH, TMPDIR, HOME: cwd, XDG_CONFIG_HOME: join(cwd, '.config'), NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: 'pipe',
  })
  child.stdin.on('error', () => undefined).end(input)
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)])
  return { process: child, ended: ended.then(([code, stdout, stderr]) => ({ code, stdout, stderr })) }
}

export const runCli = (args: readonly string[], options?: CliOptions): Promise<CliRun> => startCli(args, options).ended

/** Records of `--json`. */
export const parseLines = (stdout: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
