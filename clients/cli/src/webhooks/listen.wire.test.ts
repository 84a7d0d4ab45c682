// `matte webhooks listen` as a process, between a stream of events and a receiver.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeService, startFakeService } from '../testing/fake-service.fixtures.ts'
import { parseLines, runCli, startCli } from '../testing/run-cli.fixtures.ts'
import { until } from '../testing/until.fixtures.ts'

type Received = { readonly body: string; readonly headers: IncomingHttpHeaders; readonly rawHeaders: readonly string[] }

let service: FakeService
let receiver: Server
let target: string
let received: Received[]
let status: number

beforeEach(async () => {
  service = await startFakeService()
  received = []
  status = 204
  receiver = createServer(async (request, response) => {
    received.push({ body: await text(request), headers: request.headers, rawHeaders: request.rawHeaders })
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  target = `127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
})
afterEach(async () => {
  await service.stop()
  await new Promise((resolve) => receiver.close(resolve))
})

const body = '{"event":"task.succeeded","task_id":"t1","message":"Größe ✓"}'
const headers = {
  'Content-Type': 'application/json',
  'User-Agent': 'Matte-Webhook/1',
  'X-Service-Signature': 't=1,v1=ab',
  'webhook-id': 'w1',
}
const block = (id: number, event: string, data: object): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
const ready = (id: number, complete = true): string =>
  `retry: 10\n${block(id, 'ready', { secret: 'whsec_own', since: '2026-11-23T22:00:00.000Z', eventTypes: [], complete })}`
const webhook = (id: number): string => block(id, 'webhook', { event: 'task.succeeded', body, headers })

const open = (response: ServerResponse, content: string): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(content)
}
const listen = (...args: string[]) => startCli(['webhooks', 'listen', ...args], { env: service.env })

describe('matte webhooks listen', { timeout: 60_000 }, () => {
  it('forwards each event byte for byte with the signed headers, and prints the answer', async () => {
    service.stream = (_request, response) => open(response, `${ready(41)}${webhook(42)}: still here\nid: 57\n\n`)
    const run = listen('--forward-to', target)
    await until(() => received.length === 1)
    expect(received[0]?.body).toBe(body)
    expect(received[0]?.headers).toMatchObject({ 'x-service-signature': 't=1,v1=ab', 'user-agent': 'Matte-Webhook/1' })
    expect(received[0]?.rawHeaders).toEqual(expect.arrayContaining(['X-Service-Signature', 'webhook-id']))
    expect(received[0]?.headers).not.toHaveProperty('x-api-key')
    run.process.kill('SIGINT')
    const { code, stdout, stderr } = await run.ended
    expect(code).toBe(0)
    expect(stdout).toContain('Signing secret of this stream: whsec_own')
    expect(stdout).toMatch(/204 in \d+ ms {2}task\.succeeded {2}w1/)
    expect(stderr).toContain(`Forwarding all events to http://${target}. Stop with Ctrl-C.`)
    expect(stderr).toContain('Continue with: --resume 57')
  })

  it('resumes after the last handled event when the stream ends, and tells of lost events', async () => {
    const positions: (string | undefined)[] = []
    service.stream = (request, response) => {
      positions.push(request.headers['last-event-id']?.toString())
      open(response, positions.length === 1 ? ready(41) + webhook(42) : ready(43, false) + webhook(44))
      if (positions.length === 1) response.end()
    }
    const run = listen('--forward-to', target)
    await until(() => received.length === 2)
    run.process.kill('SIGINT')
    const { stderr } = await run.ended
    expect(positions).toEqual([undefined, '42'])
    expect(stderr).toContain('Connected again.')
    expect(stderr).toContain('Some events before 2026-11-23T22:00:00.000Z were lost')
  })

  it('waits and reconnects during an outage, and continues at --resume', async () => {
    const positions: (string | undefined)[] = []
    let answers = 0
    service.refuse = (_method, path) =>
      path === '/webhooks/stream' && ++answers < 3
        ? { status: 503, code: 'SYSTEM_INTERNAL_ERROR', headers: { 'retry-after': '0' } }
        : undefined
    service.stream = (request, response) => {
      positions.push(request.headers['last-event-id']?.toString())
      open(response, ready(8) + webhook(9))
    }
    const run = listen('--resume', '7', '--forward-to', target)
    await until(() => received.length === 1)
    run.process.kill('SIGINT')
    expect((await run.ended).code).toBe(0)
    expect(positions).toEqual(['7'])
  })

  it('prints events without a receiver, and as JSON on request', async () => {
    service.stream = (request, response) => {
      expect(request.url).toContain('eventTypes=task.succeeded%2Ctask.failed')
      open(response, ready(1) + webhook(2))
      response.end()
      service.refuse = () => ({ status: 401, code: 'API_KEY_INVALID' })
    }
    const { code, stdout } = await listen('--events', 'task.succeeded,task.failed', '--json').ended
    expect(code).toBe(3)
    expect(parseLines(stdout)).toMatchObject([
      { type: 'ready', secret: 'whsec_own' },
      { type: 'webhook', event: 'task.succeeded', body, headers },
    ])
  })

  it('goes on when the receiver is down, and says so', async () => {
    service.stream = (_request, response) => open(response, ready(1) + webhook(2))
    const run = listen('--forward-to', '127.0.0.1:1/hook', '--json')
    let seen = ''
    run.process.stdout?.on('data', (chunk) => {
      seen += chunk
    })
    await until(() => seen.includes('nothing listens on 127.0.0.1:1'))
    run.process.kill('SIGINT')
    expect((await run.ended).code).toBe(0)
  })

  it('explains a key without the scope, and exits with 3', async () => {
    service.refuse = () => ({
      status: 403,
      code: 'API_KEY_INSUFFICIENT_SCOPE',
      details: { required: 'webhooks:listen' },
    })
    const { code, stderr } = await listen().ended
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('the scope webhooks:listen') })
  })

  it('sends nothing to another machine unless that is allowed', async () => {
    const { code, stderr } = await listen('--forward-to', '10.1.2.3:80').ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Add --allow-remote') })
    expect(service.requests).toEqual([])
  })
})

describe('matte webhooks trigger', { timeout: 60_000 }, () => {
  it('sends a sample to the stream', async () => {
    const { code, stdout } = await runCli(['webhooks', 'trigger', 'task.failed'], { env: service.env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('sample of task.failed sent') })
    expect(service.requests).toEqual(['POST /api/v1/open/developer/webhooks/trigger'])
  })

  it('exits with 4 when nothing listens', async () => {
    service.refuse = () => ({
      status: 409,
      code: 'CONFLICT',
      message: 'Nobody listens. Run matte webhooks listen first.',
    })
    const { code, stderr } = await runCli(['webhooks', 'trigger', 'task.failed'], { env: service.env })
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('Run matte webhooks listen first.') })
  })
})
