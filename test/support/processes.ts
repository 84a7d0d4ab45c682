// Our processes as children: the deployed sources, each on free ports, with its log in a file that is shown when a test
// fails. They end with the test program, even if it is killed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-group'
import { type ProcessName, startProcess } from '@matte/local/servers/process'
import { freePorts, nodeEnv } from './free-ports.ts'
import { envAs } from './roles.ts'
import { until } from './until.ts'

export type Env = Readonly<Record<string, string>>

export type { ProcessName }

/** One line of a log. */
export type LogLine = { readonly level: string; readonly msg: string; readonly [field: string]: unknown }

export type TestProcess = {
  readonly name: ProcessName
  readonly pid: number
  /** Origin of the API, or of the health port. */
  readonly url: string
  readonly healthUrl: string
  readonly logFile: string
  kill(signal: NodeJS.Signals): Promise<void>
  /** Waits for the process to exit. */
  untilEnded(): Promise<void>
  /** Clean stop; SIGKILL after its limit. */
  stop(): Promise<void>
  isAlive(): boolean
  log(): LogLine[]
  /** Waits for a line with this message, or the first that `matches`. */
  untilLogged(msg: string, matches?: (line: LogLine) => boolean): Promise<LogLine>
  /** Peak resident memory so far, in bytes. */
  peakMemoryBytes(): number
}

/** Starts a process and returns when `/readyz` reports ready. Its ports are free ones; `PORT` chooses that of the API. */
export async function startTestProcess(name: ProcessName, dir: string, env: Env): Promise<TestProcess> {
  const [healthPort = 0, free = 0] = await freePorts(2)
  const port = Number(env.PORT ?? free)
  const logFile = join(dir, `${name}-${healthPort}.log`)
  const own: Env = name === 'api' ? { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` } : {}
  const server = await startProcess({
    name,
    env: { ...nodeEnv(), HOST: '127.0.0.1', HEALTH_PORT: String(healthPort), ...own, ...envAs(name, env) },
    healthPort,
    ...(name === 'api' && { port }),
    logFile,
    lifetime: 'attached',
  })
  const born = identify(server.pid)?.born
  const isAlive = (): boolean => born !== undefined && identify(server.pid)?.born === born
  const log = (): LogLine[] => readLog(logFile)
  return {
    name,
    pid: server.pid,
    url: server.url,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    logFile,
    kill: (signal) => server.kill(signal),
    untilEnded: async () => void (await until(`the ${name} has ended`, () => !isAlive())),
    stop: () => server.stop(),
    isAlive,
    log,
    untilLogged: (msg, matches = () => true) =>
      until(`the ${name} logs "${msg}"`, () => log().find((line) => line.msg === msg && matches(line))),
    peakMemoryBytes: () => peakMemoryBytes(server.pid),
  }
}

function readLog(file: string): LogLine[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as LogLine]
      } catch {
        return [] // an incomplete line, or output of Node itself
      }
    })
}

/** The end of a log for a person, without request lines. */
export function showLog({ name, pid, logFile }: TestProcess, lines = 40): string {
  const text = readFileSync(logFile, 'utf8').trimEnd().split('\n')
  return [`--- ${name} (pid ${pid}), the end of ${logFile}`, ...text.slice(-lines)].join('\n')
}

function peakMemoryBytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  if (kilobytes === undefined) throw new Error(`the system does not know the memory of process ${pid}`)
  return Number(kilobytes) * 1_024
}
