// `make bench ARGS=attack`: reads of one client of a running `make up`, idle and while two attacks without a credential
// run in another process: half-sent bodies, and bodies in chunks of one byte.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { readLayout } from '@matte/local/paths'
import type { Row } from '../row.ts'

type AttackOptions = {
  /** Duration of the attacks. The idle reads before and after take a tenth of it. */
  readonly seconds: number
  readonly say: (line: string) => void
}

const readsPerSecond = 50

export async function measureAttack({ seconds, say }: AttackOptions): Promise<Row[]> {
  const { MATTE_BASE_URL: url = '', MATTE_API_KEY: key = '' } = parseEnv(
    readFileSync(readLayout(process.env).envFile, 'utf8'),
  )
  const reader = { url, key }
  await read(reader, 5)
  const idle = await read(reader, seconds / 10)
  say(`idle: ${textOf(idle)}`)
  const attackers = startAttack(url)
  const attacked = await read(reader, seconds)
  await endAttack(attackers, say)
  say(`attacked: ${textOf(attacked)}`)
  const after = await read(reader, seconds / 10)
  say(`afterwards: ${textOf(after)}`)
  const name = 'p99 of reads of another client during both attacks ÷ idle'
  const detail = `${attacked.p99.toFixed(1)} ms, idle ${idle.p99.toFixed(1)} ms`
  const refused = { name: 'its reads that were not answered with 200', target: { atMost: 0 } }
  return [
    { name, ratio: attacked.p99 / idle.p99, target: { atMost: 2 }, detail },
    {
      ...refused,
      ratio: attacked.failures.length + after.failures.length,
      detail: `of ${attacked.count + after.count}`,
    },
  ]
}

type Reads = {
  readonly count: number
  readonly failures: readonly (number | string)[]
  readonly p50: number
  readonly p99: number
}

/** Milliseconds from the scheduled start of each read, so a stalled service is not measured less often. */
async function read({ url, key }: { readonly url: string; readonly key: string }, seconds: number): Promise<Reads> {
  const times: number[] = []
  const failures: (number | string)[] = []
  const one = async (dueMs: number): Promise<void> => {
    const outcome = await fetch(`${url}/open/developer/tasks`, { headers: { 'x-api-key': key } })
      .then(async (response) => (await response.arrayBuffer()) && response.status)
      .catch((error: Error) => String(error.cause ?? error))
    if (outcome !== 200) failures.push(outcome)
    times.push(performance.now() - dueMs)
  }
  const startMs = performance.now()
  const running: Promise<void>[] = []
  for (let index = 0; index < seconds * readsPerSecond; index++) {
    const dueMs = startMs + (index * 1_000) / readsPerSecond
    const earlyMs = dueMs - performance.now()
    if (earlyMs > 0) await delay(earlyMs)
    running.push(one(dueMs))
  }
  await Promise.all(running)
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
  return { count: times.length, failures, p50: at(0.5), p99: at(0.99) }
}

const textOf = ({ count, failures, p50, p99 }: Reads): string =>
  `${count} reads, ${failures.length} failed (${[...new Set(failures)].join('; ')}), p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`

const startAttack = (url: string): ChildProcess =>
  fork(fileURLToPath(new URL('./attackers.ts', import.meta.url)), [url])

async function endAttack(attackers: ChildProcess, say: (line: string) => void): Promise<void> {
  const [counts] = await Promise.all([once(attackers, 'message'), attackers.send('stop')])
  say(`attackers: ${JSON.stringify(counts[0])}`)
  attackers.kill()
}
