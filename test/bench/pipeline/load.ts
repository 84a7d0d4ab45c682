// Callers in a closed loop: upload grant, upload, task, webhook, and the next image.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Photo } from '../rates.ts'

const retryMs = 100

export type Load = {
  /** Images whose webhook has arrived. */
  ended(): number
  /** Requests answered with a 5xx, which the callers sent again. */
  failed(): number
  /** Sends no further images and waits for those in flight. @throws the first error of a caller */
  stop(): Promise<void>
}

type LoadOptions = {
  readonly origin: string
  readonly apiKey: string
  readonly photo: Photo
  /** Callers, each with one image at a time. */
  readonly callers: number
}

export async function startLoad({ origin, apiKey, photo, callers }: LoadOptions): Promise<Load> {
  const waiting = new Map<string, (body: Hook) => void>()
  const receiver = createServer((asked, answer) => void receive(waiting, asked, answer))
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const agent = new Agent()
  let [ended, sent, failed, isStopping] = [0, 0, 0, false]

  const post = async <T>(path: string, body: unknown): Promise<T> => {
    for (;;) {
      const { statusCode, data } = await postOnce<T>(path, body)
      if (data !== undefined) return data
      if (statusCode < 500 || isStopping) throw new Error(`POST ${path} was answered ${statusCode}`)
      failed += 1
      await pause(retryMs)
    }
  }

  async function postOnce<T>(path: string, body: unknown): Promise<{ statusCode: number; data?: T | undefined }> {
    const answer = await request(`${origin}/api/v1/open/developer${path}`, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { data } = (await answer.body.json()) as { data?: T }
    return { statusCode: answer.statusCode, data }
  }

  async function sendOne(): Promise<void> {
    const { bytes, contentType } = photo
    const path = `/hook/${sent++}`
    const grant = await post<Grant>('/uploads/presign', { fileName: 'photo', contentType, fileSize: bytes.length })
    const put = await request(grant.uploadUrl, {
      dispatcher: agent,
      method: 'PUT',
      headers: grant.headers,
      body: bytes,
    })
    await put.body.dump()
    if (put.statusCode !== 200) throw new Error(`an upload was answered ${put.statusCode}`)
    const hook = new Promise<Hook>((resolve) => waiting.set(path, resolve))
    await post('/tasks', { imageUrl: grant.objectKey, callbackUrl: `http://127.0.0.1:${port}${path}` })
    const { event } = await hook
    if (event !== 'task.succeeded') throw new Error(`an image ended with ${event}`)
    ended += 1
  }

  async function call(): Promise<void> {
    while (!isStopping) await sendOne()
  }
  const calling = Promise.all(Array.from({ length: callers }, call))
  // Reported by `stop`.
  calling.catch(() => {
    isStopping = true
  })
  return {
    ended: () => ended,
    failed: () => failed,
    stop: async () => {
      isStopping = true
      await calling.finally(async () => {
        receiver.closeAllConnections()
        receiver.close()
        await agent.close()
      })
    },
  }
}

type Grant = { readonly uploadUrl: string; readonly objectKey: string; readonly headers: Record<string, string> }
type Hook = { readonly event: string }

async function receive(
  waiting: Map<string, (body: Hook) => void>,
  asked: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  let body = ''
  for await (const chunk of asked.setEncoding('utf8')) body += chunk
  answer.writeHead(200).end()
  const path = asked.url ?? ''
  waiting.get(path)?.(JSON.parse(body) as Hook)
  waiting.delete(path)
}
