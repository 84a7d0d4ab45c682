// Starts a server, waits until it is ready, and stops it. `make up` starts detached servers, found again by pid file;
// tests start attached ones, which die with the test program even after SIGKILL.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { awaitFreePorts, isPortFree } from './free-ports.ts'
import { type ProcessRecord, readRecord, stopProcess, writeRecord } from './pid-file.ts'
import { identify, isAlive, signalGroup } from './process-group.ts'
import { waitUntil } from './wait.ts'

export type RunningServer = {
  readonly name: string
  readonly pid: number
  readonly url: string
  /** Clean stop, then SIGKILL after a limit; idempotent. */
  stop(): Promise<void>
  /** Signals the server and its helpers; after SIGKILL waits for the end. */
  kill(signal: NodeJS.Signals): Promise<void>
}

export type StartOptions = {
  readonly logFile: string
  /** `detached` outlives this program and needs a `pidFile`. */
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
  /** Version of the program if the command does not show it; a change restarts the server. */
  readonly version?: string
  readonly url: string
  /** Probes the server's own protocol; a throw means "not yet". */
  readonly ready: () => Promise<boolean>
  readonly stopSignal?: NodeJS.Signals
  readonly stopTimeoutMs?: number
  readonly leftovers?: readonly string[]
  readonly ports: readonly number[]
}

/** Guards against hanging only; an early exit is noticed at once. */
const readyTimeoutMs = 180_000
/** A larger log is moved aside at the next start, which bounds the disk space. */
const logBytesMax = 20 * 1024 * 1024

/** Keeps a running process if command, environment and version match. @throws ServerEndedError if it ends early */
export async function startServer(launch: Launch): Promise<RunningServer> {
  const before = launch.pidFile === undefined ? undefined : readRecord(launch.pidFile)
  const fits = before && isAlive(before) && before.fingerprint === fingerprintOf(launch)
  if (fits) return awaitReady(launch, before, 0)
  if (before) {
    await stopProcess(before)
    await awaitFreePorts(before.ports)
  }
  // Another program on the port could answer the readiness probe.
  for (const port of launch.ports) {
    if (!(await isPortFree(port))) throw new Error(`${launch.name} needs port ${port}, which another program uses`)
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
  // Detached: leads its own group, so the terminal's Ctrl-C does not reach it.
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

/** Kills the server's group when this program ends. PR_SET_PDEATHSIG would be lost when the server changes its user. */
function guard({ pid, leftovers }: ProcessRecord): () => void {
  const args = [join(import.meta.dirname, 'guard.sh'), String(pid), ...leftovers]
  // Empty environment: the end of a test run kills processes that name the run.
  const env = { PATH: process.env.PATH }
  const child = spawn('/bin/sh', args, { cwd: '/', detached: true, env, stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as typeof child.stdin & { unref?: () => void }).unref?.()
  return () => child.stdin.end('ended\n')
}

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
