import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

type Asked = { readonly authority: string; readonly authorization: string | undefined }

export type EgressProxy = {
  readonly host: string
  readonly port: number
  readonly asked: readonly Asked[]
  close(): Promise<void>
}

/** A status, `silence`, or the local port that plays the internet. */
type Verdict = { readonly status: number } | 'silence' | { readonly port: number }

/** A real proxy on loopback that supports only CONNECT; `judge` chooses the response. */
export async function startEgressProxy(judge: (authority: string) => Verdict): Promise<EgressProxy> {
  const asked: Asked[] = []
  const open = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    open.add(socket)
    return socket.on('error', () => undefined).on('close', () => open.delete(socket))
  }
  const server = createServer((_request, response) => response.writeHead(405).end())
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Socket) => {
    asked.push({ authority: url, authorization: headers['proxy-authorization'] })
    keep(client)
    const verdict = judge(url)
    if (verdict === 'silence') return
    if ('status' in verdict) {
      client.end(`HTTP/1.1 ${verdict.status} No\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    const upstream = keep(connect(verdict.port, '127.0.0.1'))
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    asked,
    close: async () => {
      for (const socket of open) socket.destroy()
      const closed = Promise.withResolvers<unknown>()
      server.close(closed.resolve)
      await closed.promise
    },
  }
}
