import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach } from 'vitest'

type Sent = { readonly call: string; readonly body: Record<string, string>; readonly key: string | undefined }
type Answer = { status?: number; json: object }
/** A function responds from state that the test keeps. */
type Answers = Record<string, Answer | ((body: Sent['body']) => Answer)>

/** Records requests to Stripe and responds by method and path; reset before each test. */
export function useFakeStripe() {
  const sent: Sent[] = []
  const answers: Answers = {}
  let server: Server
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fake = { sent, answers, origin }
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { pathname } = new URL(request.url ?? '', 'http://x')
        const call = `${request.method} ${pathname}`
        const body = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
        sent.push({ call, body, key: request.headers['idempotency-key']?.toString() })
        const answer = fake.answers[call] ?? { status: 404, json: { error: { message: `no ${call}` } } }
        const { status = 200, json } = typeof answer === 'function' ? answer(body) : answer
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  beforeEach(() => {
    sent.length = 0
    fake.answers = {}
  })
  return fake
}
