import type { ServerResponse } from 'node:http'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { isProofRequired } from '../proof.ts'
import { type Breaks, png, sendError, sendJson, startService } from '../service.fixtures.ts'
import { MatteApp, type MatteAppOptions } from './matte-app.ts'

/** No jitter, so retries take no time. */
beforeEach(() => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  return () => random.mockRestore()
})

async function given(breaks: Breaks, options: Partial<MatteAppOptions> = {}) {
  const service = await startService(breaks)
  onTestFinished(() => service[Symbol.asyncDispose]())
  const app = new MatteApp({ baseUrl: `${service.origin}/api/v1`, accessToken: () => 'token-1', ...options })
  return { service, app }
}

const answering =
  (data: unknown): Breaks =>
  ({ response }) => {
    sendJson(response, 200, { data })
    return true
  }

it('calls the paths for people with the access token', async () => {
  const { service, app } = await given(answering({ items: [], nextCursor: null }))
  await app.tasks.get('1')
  await app.batches.list().all()
  await app.webhooks.egressAddresses()
  await app.webhooks.signingSecret()
  await app.uploads.create({ fileName: 'a.png', contentType: 'image/png' })
  await app.request('GET', '/app/teams/{teamId}', { path: { teamId: '2' } })
  expect(service.requests.map(({ path }) => path.replace('/api/v1/app', ''))).toEqual([
    '/tasks/images/1',
    '/tasks/batch',
    '/developer/webhooks/egress-addresses',
    '/developer/signing-secret',
    '/tasks/uploads/presign',
    '/teams/2',
  ])
  expect(service.requests.every(({ headers }) => headers.authorization === 'Bearer token-1')).toBe(true)
})

it('removes a background and sends the token to the service alone', async () => {
  const { service, app } = await given(({ seen }) => {
    const developer = seen.path.replace('/app/tasks/images', '/open/developer/tasks')
    Object.assign(seen, { path: developer.replace('/app/tasks/uploads', '/open/developer/uploads') })
    return false
  })
  const cutout = await app.removeBackground(png)
  expect(cutout.task.status).toBe('succeeded')
  const ofStore = service.requests.filter(({ path }) => !path.startsWith('/api/'))
  expect(ofStore.map(({ method }) => method)).toEqual(['PUT', 'GET'])
  expect(ofStore.some(({ headers }) => 'authorization' in headers)).toBe(false)
})

it('sends no credential before sign-in', async () => {
  const { service, app } = await given(answering({}), { accessToken: () => undefined })
  await app.request('POST', '/app/auth/login', { body: { email: 'ada@example.com', password: 'x' } })
  expect(service.requests[0]?.headers).not.toHaveProperty('authorization')
})

it('renews an expired token once and repeats the request with the same key', async () => {
  let token = 'expired'
  const renew = vi.fn(async () => {
    token = 'fresh'
    return true
  })
  const breaks: Breaks = ({ seen, response }) => {
    if (seen.headers.authorization === 'Bearer fresh') sendJson(response, 201, { data: { id: '1' } })
    else sendError(response, 401, 'AUTH_INVALID_TOKEN')
    return true
  }
  const { service, app } = await given(breaks, { accessToken: () => token, renew })
  await app.tasks.create({ imageUrl: 'private-uploads/1' })
  expect(renew).toHaveBeenCalledOnce()
  expect(new Set(service.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
})

it.each([false, true])('reports a 401 that a renewal, successful: %s, does not change', async (renewed) => {
  const breaks: Breaks = ({ response }) => {
    sendError(response, 401, 'AUTH_INVALID_TOKEN')
    return true
  }
  const { service, app } = await given(breaks, { renew: async () => renewed })
  await expect(app.tasks.get('1')).rejects.toMatchObject({ code: 'AUTH_INVALID_TOKEN', status: 401 })
  expect(service.requests).toHaveLength(renewed ? 2 : 1)
})

/** Refuses everything but proofs, as long as there was none. */
const asking = (): Breaks => {
  let isProved = false
  return ({ seen, response }) => {
    if (seen.path.endsWith('/proof')) {
      isProved = true
      sendJson(response, 200, { data: { method: 'password' } })
    } else if (isProved) sendJson(response, 201, { data: { id: '1' } })
    else {
      const details = { reason: 'proof_required', maxAgeSeconds: 600, fields: ['password'] }
      sendJson(response, 403, { error: { code: 'AUTH_FORBIDDEN', message: 'Prove it.', details } })
    }
    return true
  }
}

it('asks for a proof and repeats the request with the same key', async () => {
  const asked: unknown[] = []
  const { service, app } = await given(asking(), {
    onProofRequired: async ({ details }) => {
      asked.push(details.fields)
      return (await app.prove({ password: 'violet tractor' })).method === 'password'
    },
  })
  const webhook = { targetUrl: 'https://example.com/hook' }
  expect(await app.webhooks.create(webhook)).toEqual({ id: '1' })
  expect(asked).toEqual([['password']])
  const [first, proof, second] = service.requests
  expect(service.requests).toHaveLength(3)
  expect(JSON.parse(String(proof?.body))).toEqual({ password: 'violet tractor' })
  expect(first?.headers['idempotency-key']).toBeTypeOf('string')
  expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
})

it.each([undefined, async () => false, async () => true])('reports a proof that is missing', async (prove) => {
  const { service, app } = await given(asking(), { onProofRequired: prove })
  const error = await app.webhooks.create({ targetUrl: 'https://example.com/hook' }).catch((cause: unknown) => cause)
  expect(isProofRequired(error)).toBe(true)
  expect(service.requests).toHaveLength((await prove?.()) ? 2 : 1)
})

it('downloads answers without envelope', async () => {
  const { app } = await given(({ response }) => {
    response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF')
    return true
  })
  const pdf = await app.blob('/app/payments/invoices/{invoiceId}/pdf', { path: { invoiceId: '1' } })
  expect(await pdf.text()).toBe('%PDF')
})

const change = (id: number): string => `id: ${id}\nevent: task\ndata: ${JSON.stringify({ taskId: String(id) })}\n\n`

/** Sends these parts, one connection each, and leaves the last one open. */
const streaming =
  (...parts: readonly ((response: ServerResponse) => unknown)[]): Breaks =>
  ({ response, count }) => {
    const part = parts[Math.min(count, parts.length) - 1]
    part?.(response)
    return true
  }

const open = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

it('resumes the stream of changes after the last one that was taken', async () => {
  const aborting = new AbortController()
  onTestFinished(() => aborting.abort())
  const breaks = streaming(
    (response) => open(response).end(`id: 4\n\n${change(5)}`),
    (response) => sendError(response, 503, 'SYSTEM_INTERNAL_ERROR'),
    (response) => open(response).write(change(6)),
  )
  const { service, app } = await given(breaks)
  const states: boolean[] = []
  const taken: string[] = []
  const changes = app.taskChanges({ signal: aborting.signal, onConnection: (isOpen) => states.push(isOpen) })
  for await (const { taskId } of changes) {
    taken.push(taskId)
    if (taken.length === 2) break
  }
  expect(taken).toEqual(['5', '6'])
  expect(states).toEqual([true, false, false, true])
  expect(service.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '5', '5'])
})

it('ends the stream of changes when the signal aborts', async () => {
  const aborting = new AbortController()
  const { app } = await given(streaming((response) => open(response).flushHeaders()))
  const changes = app.taskChanges({ signal: aborting.signal, onConnection: () => aborting.abort() })
  expect(await changes.next()).toEqual({ done: true, value: undefined })
})

it('reports a stream that is refused for good', async () => {
  const { app } = await given(streaming((response) => sendError(response, 403, 'AUTH_FORBIDDEN')))
  const changes = app.taskChanges({ signal: new AbortController().signal })
  await expect(changes.next()).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
})
