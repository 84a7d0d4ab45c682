// Receives webhooks and verifies their signature over `t.body`, as documented. Also accepts commands from within the
// pod.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { beginPhase, readProgress, write } from './log.ts'

export async function receiveWebhooks(secret: () => string): Promise<void> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { task_id: task = '', event = '' } = JSON.parse(body) as { task_id?: string; event?: string }
      const signed = isSigned(secret(), String(request.headers['x-service-signature']), body)
      write({ type: 'webhook', delivery: String(request.headers['webhook-id']), task, event, signed })
      response.end()
    })
  })
  await listen(server, 9_000)
}

/** `POST /phase/NAME`, `POST /stop`. Each returns the client's progress, as does GET. */
export async function takeCommands(stop: () => void): Promise<void> {
  const server = createServer((request, response) => {
    const [, command, name = ''] = (request.url ?? '').split('/')
    if (command === 'phase') beginPhase(decodeURIComponent(name))
    if (command === 'stop') stop()
    response.end(JSON.stringify(readProgress()))
  })
  await listen(server, 9_001, '127.0.0.1')
}

const listen = (server: Server, port: number, host?: string): Promise<void> =>
  new Promise((resolve) => server.listen(port, host, resolve))

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function isSigned(secret: string, header: string, body: string): boolean {
  const timestamp = /^t=(\d+),v1=/.exec(header)?.[1]
  if (timestamp === undefined) return false
  const hex = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  return header === `t=${timestamp},v1=${hex}`
}
