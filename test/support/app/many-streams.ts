// Opens as many streams as a process allows. Reads them in this program, scans for task ids and drops the rest.
import { Agent, type IncomingMessage, request } from 'node:http'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { until } from '../until.ts'
import type { Issuer } from './people.ts'

type OpenStream = { readonly seen: ReadonlySet<string>; readonly close: () => void }

/** Address and token secret of a process that runs as a child. */
export const issuerAt = (url: string, masterKeys: string): Issuer => ({
  url,
  config: { publicUrl: url, masterKeys: parseMasterKeys(masterKeys) },
})

/** Number of streams to open at once. */
const atOnce = 50

export async function openMany(origin: string, tokens: readonly string[], each: number): Promise<OpenStream[]> {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY, keepAlive: false })
  const wanted = tokens.flatMap((token) => Array.from({ length: each }, () => token))
  const streams: Awaited<ReturnType<typeof openOne>>[] = []
  for (let i = 0; i < wanted.length; i += atOnce) {
    const some = wanted.slice(i, i + atOnce).map((token) => openOne(origin, token, agent))
    streams.push(...(await Promise.all(some)))
  }
  await until('every stream says where it begins', () => streams.every(({ begun }) => begun()))
  return streams
}

function openOne(origin: string, token: string, agent: Agent): Promise<OpenStream & { begun: () => boolean }> {
  const seen = new Set<string>()
  let [begun, rest] = [false, '']
  function take(chunk: string): void {
    begun = true
    const text = rest + chunk
    for (const [, id = ''] of text.matchAll(/"taskId":"([0-9a-f-]{36})"/g)) seen.add(id)
    rest = text.slice(text.lastIndexOf('\n') + 1)
  }
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const outgoing = request(`${origin}/api/v1/app/tasks/stream`, { headers, agent }, (answer: IncomingMessage) => {
      if (answer.statusCode !== 200) return reject(new Error(`a stream was answered ${answer.statusCode}`))
      answer.setEncoding('utf8').on('data', take)
      answer.on('error', () => undefined)
      resolve({ seen, begun: () => begun, close: () => outgoing.destroy() })
    })
    outgoing.on('error', reject).end()
  })
}
