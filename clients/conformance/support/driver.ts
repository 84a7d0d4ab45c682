// A client behind a pipe: a program in the client's language reads calls as lines of JSON on its standard input and
// writes one line for each outcome. All calls of a program run at the same time.
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { installPackages } from '@matte/local/install/python-packages'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { nodeEnv } from '@matte/test/support/free-ports.ts'

export const languages = ['TypeScript', 'Python', 'Python with asyncio'] as const
export type Language = (typeof languages)[number]

export type ClientOptions = {
  readonly apiKey: string
  readonly baseUrl: string
  readonly timeoutMs?: number
  readonly retriesMax?: number
}

export type Options = {
  readonly format?: 'png' | 'webp' | 'jpeg'
  readonly background?: string
  readonly model?: string
  readonly maxSide?: number
}

export type Call =
  | { readonly name: 'removeBackground'; readonly path: string; readonly options?: Options }
  | {
      readonly name: 'removeBackgrounds'
      readonly inputs: readonly { readonly key: string; readonly path: string }[]
      readonly concurrency?: number
      readonly manifest?: string
      readonly options?: Options
    }
  /** One request for upload and task, then the download. */
  | { readonly name: 'cutOut'; readonly path: string; readonly options?: Options }
  /** Removes the background, erases the images, and asks for the result again. */
  | { readonly name: 'erase'; readonly path: string }
  | { readonly name: 'listTasks'; readonly status: 'failed' }
  | { readonly name: 'download'; readonly taskId: string }
  | {
      readonly name: 'verify'
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
      readonly secrets: readonly string[]
      readonly toleranceSeconds?: number
    }

export type Result = {
  readonly key?: string
  readonly taskId?: string
  readonly contentType?: string
  readonly sizeBytes?: number
  readonly sha256?: string
  readonly resumed?: boolean
  readonly error?: Failure
}

export type Failure = {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly requestId?: string | null
  readonly status?: number | null
  readonly taskId?: string | null
  readonly retryAfterMs?: number | null
  /** Class of the error in its language. */
  readonly type: string
}

/** `results` of a call that removes backgrounds, or `count` of one that lists. */
export type Outcome = { readonly results?: readonly Result[]; readonly count?: number; readonly error?: Failure }

export type Running = {
  readonly outcome: Promise<Outcome>
  abort(): void
}

export type Driver = {
  start(client: ClientOptions, call: Call): Running
  /** Ends the program at once, as a crash does; calls in progress have no outcome. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const folder = join(import.meta.dirname, '../drivers')

export async function startDriver(language: Language): Promise<Driver> {
  const { command, args, env } = await commandOf(language)
  const child = spawn(command, args, { env: { ...nodeEnv(), ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, PromiseWithResolvers<Outcome>>()
  let isExpected = false
  let crash: Error | undefined
  let lastId = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, ...outcome } = JSON.parse(line) as Outcome & { id: number }
    waiting.get(id)?.resolve(outcome)
    waiting.delete(id)
  })
  child.on('exit', (code, signal) => {
    if (isExpected) return
    crash = new Error(`the ${language} driver ended: ${signal ?? code}`)
    for (const each of waiting.values()) each.reject(crash)
  })
  const write = (message: unknown): void => void child.stdin.write(`${JSON.stringify(message)}\n`)
  const end = async (act: () => void): Promise<void> => {
    isExpected = true
    const ended = untilEnded(child)
    act()
    await ended
  }
  return {
    start: (client, call) => {
      const id = ++lastId
      const outcome = Promise.withResolvers<Outcome>()
      waiting.set(id, outcome)
      if (crash) outcome.reject(crash)
      else write({ id, client, call })
      return { outcome: outcome.promise, abort: () => write({ id, abort: true }) }
    },
    kill: () => end(() => child.kill('SIGKILL')),
    stop: () => end(() => child.stdin.end()),
  }
}

const untilEnded = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once('exit', () => resolve()))

type Command = { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> }

async function commandOf(language: Language): Promise<Command> {
  if (language === 'TypeScript') return { command: nodePath, args: [join(folder, 'typescript.ts')], env: {} }
  const { command, path } = await preparePython()
  const mode = language === 'Python' ? 'sync' : 'async'
  return { command, args: [join(folder, 'python.py'), mode], env: { ...bytecodeEnv, PYTHONPATH: path } }
}

/** Compiled modules stay outside the checkout. Without them a driver spends most of its start compiling. */
const bytecodeEnv = { PYTHONPYCACHEPREFIX: join(tmpdir(), 'matte-python-bytecode'), PYTHONDONTWRITEBYTECODE: '' }

/** The interpreter, and a path with the client's source and the packages that it needs. */
async function preparePython(): Promise<{ readonly command: string; readonly path: string }> {
  const { command, dir } = await installHttpx()
  return { command, path: [join(rootDir, 'clients/python/src'), dir].join(':') }
}

let installed: ReturnType<typeof installPackages> | undefined

/** The interpreter, and the folder of httpx for its path. The search for it starts programs, so it happens once. */
export function installHttpx(): Promise<{ readonly command: string; readonly dir: string }> {
  installed ??= installFresh()
  return installed
}

function installFresh(): ReturnType<typeof installPackages> {
  const packages = {
    name: 'python-client',
    requirements: join(import.meta.dirname, '../requirements.txt'),
    saying: 'fetching httpx for the Python client (1 MB)',
  }
  return installPackages(packages, (line) => void process.stdout.write(`[python] ${line}\n`))
}
