// Starting a real server, knowing when it is ready, and stopping it; shared by `make up` (detached: it outlives the
// program that started it and is found again by its pid file) and the integration tests (attached: it dies with the
// program, even when that is killed with SIGKILL). Nothing here is remembered between calls.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { awaitFreePorts } from '../ports/await-free-ports.ts'
import { isPortFree } from '../ports/is-port-free.ts'
import { type ProcessRecord, readRecord, stopProcess, writeRecord } from './pid-file.ts'
import { signalGroup } from './process-group.ts'
import { identify, isAlive } from './process-identity.ts'
import { waitUntil } from './wait.ts'

export type RunningServer = {
  readonly name: string
  readonly pid: number
  /** How a client reaches it. */
  readonly url: string
  /** Clean stop, SIGKILL after a limit; returns when the process is gone. Safe to call twice. */
  stop(): Promise<void>
  /** Sends a signal to the server and its helpers. With SIGKILL it returns when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<void>
}

/** What the caller of every `start…` function chooses. */
export type StartOptions = {
  readonly logFile: string
  /** `attached`: ends with this program. `detached`: outlives it, and needs a `pidFile` to be found again. */
  readonly lifetime: 'attached' | 'detached'
  readonly pidFile?: string
}

type Launch = StartOptions & {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
  /** Version of what is run, where the command does not show it: a process of another version is restarted. */
  readonly version?: string
  readonly url: string
  /** A real question in the server's own protocol; throwing means "not yet". */
  readonly ready: () => Promise<boolean>
  readonly stopSignal?: NodeJS.Signals
  readonly stopTimeoutMs?: number
  readonly leftovers?: readonly string[]
  /** Ports that it listens on. */
  readonly ports: readonly number[]
}

/** A bound against hanging only, not a measure of speed: a process that ends early is noticed at once. */
const readyTimeoutMs = 180_000
/** A log older than this size is moved aside at the next start, so that two files bound the disk it takes. */
const logBytesMax = 20 * 1024 * 1024

/**
 * Starts the process and returns when it is ready. One that its pid file says is running is kept when it was started
 * with the same command, environment and version, else stopped first. Helpers of one that was killed are killed first.
 * @throws ServerEndedError when it ends before it is ready
 */
export async function startServer(launch: Launch): Promise<RunningServer> {
  const before = launch.pidFile === undefined ? undefined : readRecord(launch.pidFile)
  const fits = before && isAlive(before) && before.fingerprint === fingerprintOf(launch)
  if (fits) return awaitReady(launch, before, 0)
  if (before) {
    await stopProcess(before)
    await awaitFreePorts(before.ports)
  }
  // Asked beforehand: another program that listens there could answer the readiness probe for our server.
  for (const port of launch.ports) {
    if (!(await isPortFree(port))) throw new Error(`${launch.name} needs port ${port}, which another program has taken`)
  }
  mkdirSync(dirname(launch.logFile), { recursive: true })
  const logFrom = moveLargeLogAside(launch.logFile)
  return awaitReady(launch, spawnProcess(launch), logFrom)
}

async function awaitReady(launch: Launch, record: ProcessRecord, logFrom: number): Promise<RunningServer> {
  try {
    await waitUntil(async () => (await launch.ready()) && isAlive(record), {
      what: `${launch.name} is ready (log: ${launch.logFile})`,
      timeoutMs: readyTimeoutMs,
      giveUp: () => {
        if (!isAlive(record)) throw new ServerEndedError(launch.name, launch.logFile, readEnd(launch.logFile, logFrom))
      },
    })
  } catch (error) {
    await stopProcess(record)
    throw error
  }
  return runningServer(record, launch.url)
}

/** A server ended before it was ready; `log` is the end of what it wrote. */
export class ServerEndedError extends Error {
  override name = 'ServerEndedError'
  readonly log: string
  constructor(server: string, logFile: string, log: string) {
    super(`${server} ended before it was ready. The end of its log (${logFile}):\n${log}`)
    this.log = log
  }
}

function runningServer(record: ProcessRecord, url: string): RunningServer {
  return {
    name: record.name,
    pid: record.pid,
    url,
    stop: async () => {
      await stopProcess(record)
    },
    kill: async (signal) => {
      signalGroup(record, signal)
      if (signal !== 'SIGKILL') return
      await waitUntil(() => !isAlive(record), { what: `${record.name} was killed`, timeoutMs: 20_000, everyMs: 10 })
    },
  }
}

function fingerprintOf({ command, args, env, ports, version }: Launch): string {
  const settings = Object.entries(env).filter(([name]) => name !== 'PATH') // differs from shell to shell
  return createHash('sha256')
    .update(JSON.stringify([command, args, settings.sort(), ports, version]))
    .digest('hex')
}

function spawnProcess(launch: Launch): ProcessRecord {
  const { name, command, args, env, uid, gid, cwd = '/', logFile, lifetime, pidFile } = launch
  const log = openSync(logFile, 'a')
  // Always detached in Node's sense: the leader of a group of its own, out of reach of the terminal's Ctrl-C.
  const child = spawn(command, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', log, log],
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  closeSync(log)
  child.on('error', () => {}) // seen by the missing pid below; an unhandled 'error' event would end this program
  if (child.pid === undefined) throw new Error(`${name} could not be started: cannot run ${command}`)
  child.unref()
  const record: ProcessRecord = {
    pid: child.pid,
    born: identify(child.pid)?.born ?? 'ended at once',
    name,
    stopSignal: launch.stopSignal ?? 'SIGTERM',
    stopTimeoutMs: launch.stopTimeoutMs ?? 10_000,
    leftovers: launch.leftovers ?? [],
    ports: launch.ports,
    fingerprint: fingerprintOf(launch),
  }
  if (pidFile) writeRecord(pidFile, record)
  if (lifetime === 'attached') child.once('exit', guard(record))
  return record
}

/**
 * Kills the server's group when this program is gone (`guard.sh`). Returned: what to call once the server has ended.
 * (PR_SET_PDEATHSIG would need a helper program and is lost where the server changes its user.)
 */
function guard({ pid, leftovers }: ProcessRecord): () => void {
  const args = [join(import.meta.dirname, 'guard.sh'), String(pid), ...leftovers]
  // Without this program's environment: the end of a test run kills each process that names the run.
  const env = { PATH: process.env.PATH }
  const child = spawn('/bin/sh', args, { cwd: '/', detached: true, env, stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as typeof child.stdin & { unref?: () => void }).unref?.()
  return () => child.stdin.end('ended\n')
}

/** Returns how many bytes the log holds now. */
function moveLargeLogAside(logFile: string): number {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
  if (size <= logBytesMax) return size
  renameSync(logFile, `${logFile}.1`)
  return 0
}

function readEnd(logFile: string, from: number): string {
  const text = readFileSync(logFile).subarray(from).toString('utf8').trimEnd()
  const lines = text.split('\n').slice(-15)
  return lines.map((line) => (line.length > 500 ? `${line.slice(0, 500)} …` : line)).join('\n')
}
