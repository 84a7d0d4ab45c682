import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePorts, nodeEnv } from '../support/free-ports.ts'
import { envAs } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { masterKeysText } from './given.ts'
import type { Line } from './in-process.ts'

export type DispatcherProcess = {
  readonly healthUrl: string
  /** All lines logged so far. */
  readonly lines: readonly Line[]
  readonly errors: readonly string[]
  kill(signal: NodeJS.Signals): void
  /** Exit code, or the signal that ended the process. */
  readonly exited: Promise<number | string>
}

const main = fileURLToPath(import.meta.resolve('@matte/dispatcher/main'))

/** Starts the dispatcher as deployed, without NATS unless `env` has its URL: the timer is enough. */
export async function spawnDispatcher(env: Readonly<Record<string, string>>): Promise<DispatcherProcess> {
  const [port = 0] = await freePorts(1)
  const child: ChildProcess = spawn(process.execPath, [main], {
    env: {
      ...nodeEnv(),
      NATS_URL: 'nats://127.0.0.1:1',
      MASTER_KEYS: masterKeysText,
      HOST: '127.0.0.1',
      HEALTH_PORT: String(port),
      ...envAs('dispatcher', env),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: Line[] = []
  const errors: string[] = []
  if (child.stdout) createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line)))
  if (child.stderr) createInterface(child.stderr).on('line', (line) => errors.push(line))
  return {
    healthUrl: `http://127.0.0.1:${port}`,
    lines,
    errors,
    kill: (signal) => void child.kill(signal),
    exited: new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))),
  }
}

export const untilStarted = (dispatcher: DispatcherProcess) =>
  until('the dispatcher has started', () => dispatcher.lines.some(({ msg }) => msg === 'process started'))
