import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import { nodePath } from '@matte/local/servers/process'

export type Load = {
  readonly port: number
  /** Whole HTTP requests, sent in turn. */
  readonly requests: readonly string[]
  /** Closed loop: the number of connections; open loop: the limit. */
  readonly connections: number
  readonly seconds: number
  readonly warmupSeconds: number
  /** Requests per second, independent of responses; absent: closed loop. */
  readonly rate?: number
}

export type Answers = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }

export type Measured = {
  /** Responses by status. */
  readonly answers: Readonly<Record<string, Answers>>
  /** All values of `Retry-After` in 429 responses. */
  readonly retryAfters: readonly string[]
  /** Connections that broke with a response outstanding. */
  readonly broken: number
  /** Open loop: requests never sent for lack of a connection. */
  readonly missed: number
  readonly connections: number
}

const taskset = ['/usr/bin/taskset', '/bin/taskset'].find((path) => existsSync(path))

/** The last core; without `taskset` the system decides. */
const pinned = (command: string, args: readonly string[]): [string, readonly string[]] =>
  taskset === undefined ? [command, args] : [taskset, ['-c', String(availableParallelism() - 1), command, ...args]]

export const isPinned = taskset !== undefined

/** Runs the generator, pinned to a core if the machine has `taskset`. */
export async function generateLoad(dir: string, load: Load): Promise<Measured> {
  const file = join(dir, 'load.json')
  await writeFile(file, JSON.stringify(load))
  const [command, args] = pinned(nodePath, [join(import.meta.dirname, 'generator.ts'), file])
  return JSON.parse(await runCommand(command, args, { env: { PATH: process.env.PATH } })) as Measured
}

type RequestParts = { readonly method: string; readonly path: string; readonly apiKey: string; readonly body?: unknown }

/** A whole request as sent. */
export function buildRequest({ method, path, apiKey, body }: RequestParts): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} /api/v1/open/developer${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `X-API-Key: ${apiKey}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${text.length}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

/** Responses of this status per second. @throws Error naming other statuses */
export function rateOf({ answers, broken }: Measured, status: number): Answers {
  const others = Object.keys(answers).filter((other) => other !== String(status))
  const found = answers[status]
  if (found === undefined || others.length > 0 || broken > 0) {
    throw new Error(`expected ${status} only: ${JSON.stringify(answers)}, ${broken} connections broke`)
  }
  return found
}
