// `make bench ARGS=app`: reads of the App API beside Fastify with the same select, the share of password hashing in a
// login, and reads during two hundred logins.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { scrape, valuesOf } from '../../support/metrics/exposed-metrics.ts'
import { startBareRead } from '../accept/bare.ts'
import { generateLoad, rateOf } from '../accept/load.ts'
import { connections, warmupSeconds } from '../accept/options.ts'
import { createWorld, type World } from '../accept/world.ts'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import { givenMembers, type Members } from './members.ts'

type AppOptions = {
  readonly rounds: number
  readonly seconds: number
  readonly dir: string
  readonly say: (line: string) => void
}

/** Disables the login limits; each login comes from another address. */
const unbounded = { OPEN_REQUESTS_PER_MINUTE: '1000000000', REQUESTS_IN_WORK_MAX: '4096', TRUSTED_PROXY_HOPS: '1' }

export async function measureApp(options: AppOptions): Promise<Row[]> {
  const world = await createWorld(options.dir, unbounded)
  try {
    const members = await givenMembers(world)
    return [...(await readRows(world, members, options)), ...(await loginRows(world, members, options))]
  } finally {
    await world.remove()
  }
}

async function readRows(world: World, members: Members, { rounds, seconds, say }: AppOptions): Promise<Row[]> {
  const bareRoute = await startBareRead(world)
  const bare: number[] = []
  const app: number[] = []
  const measure = async (port: number, requests: readonly string[]): Promise<number> =>
    rateOf(await generateLoad(world.dir, { port, requests, connections, seconds, warmupSeconds }), 200).perSecond
  try {
    for (let round = 0; round < rounds; round++) {
      bare.push(await measure(bareRoute.port, members.bareReads))
      app.push(await measure(world.port, members.reads))
      const both = `bare ${bare.at(-1)?.toFixed(0)}, app ${app.at(-1)?.toFixed(0)}`
      say(`GET, round ${round + 1} of ${rounds}, a second: ${both}`)
    }
  } finally {
    await bareRoute.stop()
  }
  return [
    {
      name: 'App API, GET of a queued task ÷ Fastify with one select',
      ratio: median(app) / median(bare),
      target: { atLeast: 0.5 },
      detail: `${median(app).toFixed(0)}/s, bare ${median(bare).toFixed(0)}/s`,
    },
  ]
}

const warmupLogins = 100
const atOnce = 200

async function loginRows(world: World, members: Members, { rounds, seconds, say }: AppOptions): Promise<Row[]> {
  const shares: number[] = []
  const slowdowns: number[] = []
  const details: string[] = []
  for (let round = 0; round < rounds; round++) {
    const [hashMs, loginMs] = await timeLogins(world, members)
    shares.push(hashMs / loginMs)
    const idle = await readWhile(world, members, { seconds, act: async () => undefined })
    const busy = await readWhile(world, members, { seconds, act: (goesOn) => keepLoggingIn(world, members, goesOn) })
    slowdowns.push(busy / idle)
    details.push(
      `hash ${hashMs.toFixed(1)} ms of ${loginMs.toFixed(1)}; p99 ${idle.toFixed(1)} → ${busy.toFixed(1)} ms`,
    )
    say(`logins, round ${round + 1} of ${rounds}: ${details.at(-1)}`)
  }
  const detail = details[Math.floor(details.length / 2)] ?? ''
  return [
    { name: 'Argon2 ÷ the route of a login', ratio: median(shares), target: { atLeast: 0.8 }, detail },
    {
      name: `p99 of GET beside ${atOnce} logins at once ÷ idle`,
      ratio: median(slowdowns),
      target: { atMost: 2 },
      detail,
    },
  ]
}

/** Milliseconds of the hash and of the route, by the process's metrics, after a warm-up. */
async function timeLogins({ port, api }: World, { logins, password }: Members): Promise<[number, number]> {
  const logInEach = async (emails: readonly string[]): Promise<void> => {
    for (const email of emails) await logIn(port, { email, password })
  }
  await logInEach(logins.slice(0, warmupLogins))
  const before = await readTimes(api.healthUrl)
  await logInEach(logins.slice(warmupLogins))
  const after = await readTimes(api.healthUrl)
  const milliseconds = (name: keyof typeof after): number =>
    ((after[name] - before[name]) / (after.logins - before.logins)) * 1_000
  return [milliseconds('hashSeconds'), milliseconds('routeSeconds')]
}

const loginRoute = { route: '/api/v1/app/auth/login' }

/** Sums since the process started. */
async function readTimes(healthUrl: string) {
  const exposed = await scrape(healthUrl)
  const sum = (name: string, labels?: Readonly<Record<string, string>>): number =>
    valuesOf(exposed, name, labels).reduce((total, value) => total + value, 0)
  return {
    logins: sum('matte_http_request_duration_seconds_count', loginRoute),
    routeSeconds: sum('matte_http_request_duration_seconds_sum', loginRoute),
    hashSeconds: sum('matte_password_hash_duration_seconds_sum'),
  }
}

const agent = new Agent({ keepAlive: true })

/** Node's plain client; the cost of `fetch` would count as the login's. */
async function logIn(port: number, body: { email: string; password: string }): Promise<void> {
  const text = JSON.stringify(body)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-forwarded-for': addressOf(body.email),
  }
  const asked = request({ agent, port, method: 'POST', path: '/api/v1/app/auth/login', headers }).end(text)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  if (answer.statusCode !== 200) throw new Error(`a login was answered ${answer.statusCode}`)
}

const addressOf = (email: string): string => {
  const number = Number(/\d+/.exec(email)?.[0])
  return `203.0.${Math.floor(number / 250)}.${(number % 250) + 1}`
}

/** A constant number of concurrent logins. */
const keepLoggingIn = async ({ port }: World, { logins, password }: Members, goesOn: () => boolean): Promise<void> => {
  const one = async (email: string): Promise<void> => {
    while (goesOn()) await logIn(port, { email, password })
  }
  await Promise.all(logins.slice(0, atOnce).map(one))
}

/** Far below the capacity, so p99 has no queueing. */
const readsPerSecond = 200

/** p99 of reads at a constant rate, in milliseconds, during `act`. */
async function readWhile(
  world: World,
  members: Members,
  { seconds, act }: { readonly seconds: number; readonly act: (goesOn: () => boolean) => Promise<void> },
): Promise<number> {
  let reading = true
  const load = {
    port: world.port,
    requests: members.reads,
    connections: 64,
    seconds,
    warmupSeconds,
    rate: readsPerSecond,
  }
  const measured = generateLoad(world.dir, load).finally(() => {
    reading = false
  })
  const [answers] = await Promise.all([measured, act(() => reading)])
  return rateOf(answers, 200).p99Ms
}
