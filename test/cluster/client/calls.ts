// HTTP calls of a careful caller: kept-alive connections, and retries only as documented: after a response with
// Retry-After and after a broken connection. Uses Node's HTTP client, because the pod has no other.
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as startRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { countAnswer, write } from './log.ts'

export type Call = {
  /** Name of the call in the log. */
  readonly op: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Sends the body in pieces over this time, on a separate connection. */
  readonly sendForMs?: number
  /** Called after each failed attempt. */
  readonly onFailure?: () => void
}

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

/** A response that must not be retried. */
export class Refused extends Error {
  readonly code: string
  constructor(op: string, status: number, code: string) {
    super(`${op}: ${status} ${code}`)
    this.code = code
  }
}

const origin = new URL(process.env.MATTE_API_ORIGIN ?? 'http://matte')
/** Uses connections in turn (fifo), because the API may close one that stays idle after SIGTERM. */
const agent = new Agent({ keepAlive: true, maxSockets: 32, maxFreeSockets: 8, scheduling: 'fifo' })
const silentMs = 90_000
const givesUpMs = 300_000
const afterBrokenMs = 300
const pieces = 32

/** @throws Refused; Error after five minutes of failures */
export async function ask(call: Call): Promise<Answer> {
  const deadline = performance.now() + givesUpMs
  for (;;) {
    const answer = await send(call).catch((error: unknown) => {
      call.onFailure?.()
      write({ type: 'broken', op: call.op, error: error instanceof Error ? error.message : String(error) })
      if (performance.now() > deadline) throw error
    })
    if (answer === undefined) {
      await pause(afterBrokenMs)
      continue
    }
    const { status, headers } = answer
    if (status < 300) {
      countAnswer()
      return answer
    }
    const code = codeOf(answer)
    const seconds = Number(headers['retry-after'])
    const retryAfter = seconds > 0
    call.onFailure?.()
    write({ type: 'refused', op: call.op, status, code, retryAfter })
    if (!retryAfter || performance.now() > deadline) throw new Refused(call.op, status, code)
    await pause(seconds * 1_000)
  }
}

function codeOf({ body }: Answer): string {
  const text = body.toString()
  const xml = /<Code>(\w+)<\/Code>/.exec(text)?.[1]
  if (xml !== undefined) return xml
  try {
    return (JSON.parse(text) as { error: { code: string } }).error.code
  } catch {
    return text.slice(0, 100)
  }
}

/** One request and its whole response; rejects if the response is cut. */
function send({ method, path, headers = {}, body, sendForMs }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': body.length }
    const options = { host: origin.hostname, port: origin.port || 80, method, path, timeout: silentMs }
    const request = startRequest(
      { ...options, agent: sendForMs === undefined ? agent : false, headers: { ...headers, ...length } },
      (response) => collect(response).then((whole) => resolve(toAnswer(response, whole)), reject),
    )
    request.on('timeout', () => request.destroy(new Error(`nothing was heard for ${silentMs / 1_000} s`)))
    request.on('error', reject)
    if (sendForMs === undefined || body === undefined) request.end(body)
    else void sendSlowly(request, body, sendForMs)
  })
}

const toAnswer = (response: IncomingMessage, body: Buffer): Answer => ({
  status: response.statusCode ?? 0,
  headers: response.headers,
  body,
})

async function collect(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function sendSlowly(request: ReturnType<typeof startRequest>, body: Buffer, forMs: number): Promise<void> {
  const size = Math.ceil(body.length / pieces)
  for (let at = 0; at < body.length && !request.destroyed; at += size) {
    request.write(body.subarray(at, at + size))
    await pause(forMs / pieces)
  }
  request.end()
}
