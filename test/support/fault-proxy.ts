// A proxy in front of the real API server that injects faults. The outer server speaks TCP only, and can cut
// connections or go silent. The inner one terminates TLS with its own certificate, so single responses and watch events
// can be replaced or dropped. The proxy uses the kubeconfig's credentials; its own clients need the token in
// `kubeconfig`.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer, type RequestOptions, request } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { makeThrowAwayCertificate } from './throw-away-certificate.ts'

/** A request as received; a fault may change `url` before it is forwarded. */
export type ProxiedRequest = {
  readonly method: string
  readonly url: URL
  readonly isWatch: boolean
  /** Time of arrival by the monotonic clock, in milliseconds. */
  readonly at: number
  /** Status of the response; undefined before it. */
  status?: number
}

export type Answer = {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: string
}

type Fault = (request: ProxiedRequest) => Answer | undefined | Promise<Answer | undefined>

export type FaultProxy = {
  /** A kubeconfig for this proxy, for child processes; and the same, loaded. */
  readonly kubeconfig: string
  readonly config: LoadedConfig
  /** Requests so far. */
  readonly requests: readonly ProxiedRequest[]
  /** Closes every open connection. */
  cut(): void
  /** From now on all connections, new ones too, stay open and transfer nothing. */
  silence(): void
  /** New connections work again; silent ones stay silent. */
  speak(): void
  /** Closes every connection and refuses new ones, like a restarting API server. */
  goAway(): Promise<void>
  /** Listens again on the same port. */
  comeBack(): Promise<void>
  /** If `fault` returns a response, it replaces the server's; a pending `fault` holds the request. */
  onRequest(fault: Fault): void
  /** Changes or drops watch lines: undefined drops the line. */
  onWatchLine(change: (line: string) => string | undefined): void
  /** The only accepted token from now on. */
  setToken(token: string): void
  close(): Promise<void>
}

export async function startFaultProxy(target: LoadedConfig): Promise<FaultProxy> {
  const { certificate, key } = makeThrowAwayCertificate()
  const upstream = new URL(target.config.getCurrentCluster()?.server ?? '')
  const requests: ProxiedRequest[] = []
  let token = randomBytes(16).toString('hex')
  let fault: Fault = () => undefined
  let changeLine: (line: string) => string | undefined = (line) => line

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', upstream)
    const method = incoming.method ?? 'GET'
    const isWatch = url.searchParams.get('watch') === 'true'
    const asked: ProxiedRequest = { method, url, isWatch, at: performance.now() }
    requests.push(asked)
    const refused = incoming.headers.authorization !== `Bearer ${token}`
    const answer = refused ? { status: 401, body: '{"kind":"Status","reason":"Unauthorized"}' } : await fault(asked)
    if (answer) {
      asked.status = answer.status
      incoming.resume()
      outgoing.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
      return
    }
    await pass(asked, incoming, outgoing)
  }

  async function pass(asked: ProxiedRequest, incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method, url, isWatch } = asked
    const { authorization: _, host: __, connection: ___, ...headers } = incoming.headers
    const options: RequestOptions = { method, hostname: url.hostname, port: url.port, path: url.pathname + url.search }
    await target.config.applyToHTTPSOptions(options)
    const asking = request({ ...options, headers: { ...headers, ...options.headers }, agent: false })
    outgoing.on('close', () => asking.destroy())
    asking.on('error', () => outgoing.destroy())
    incoming.pipe(asking)
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    if (response.statusCode !== undefined) asked.status = response.statusCode
    response.on('error', () => outgoing.destroy())
    // `connection` describes the connection to the API server; forwarding it would close client connections.
    const { connection: ____, ...told } = response.headers
    outgoing.writeHead(response.statusCode ?? 502, told)
    if (!isWatch || response.statusCode !== 200) return void response.pipe(outgoing)
    outgoing.flushHeaders()
    createInterface({ input: response })
      .on('line', (line) => {
        const changed = changeLine(line)
        if (changed !== undefined) outgoing.write(`${changed}\n`)
      })
      .on('error', () => outgoing.destroy())
      .on('close', () => outgoing.end())
  }

  const inner = createTlsServer({ cert: certificate, key }, (incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  })
  inner.keepAliveTimeout = 120_000 // an idle connection ends when a test closes it
  const innerPort = await listen(inner)
  const tcp = startTcp(innerPort)
  const port = await listen(tcp.server)
  const server = `https://127.0.0.1:${port}`
  const dir = mkdtempSync(join(tmpdir(), 'matte-kubeconfig-'))
  const kubeconfig = join(dir, 'config')
  writeFileSync(kubeconfig, buildKubeconfig({ server, certificate, token, namespace: target.namespace }), {
    mode: 0o600,
  })
  const config = await loadKubeConfig(kubeconfig)
  if (config === undefined) throw new Error('the kubeconfig of the proxy cannot be read')

  return {
    kubeconfig,
    config,
    requests,
    cut: tcp.cut,
    silence: () => tcp.setSilent(true),
    speak: () => tcp.setSilent(false),
    goAway: async () => {
      const closed = close(tcp.server)
      tcp.cut()
      await closed
    },
    comeBack: async () => void (await listen(tcp.server, port)),
    onRequest: (next) => {
      fault = next
    },
    onWatchLine: (next) => {
      changeLine = next
    },
    setToken: (next) => {
      token = next
    },
    close: async () => {
      tcp.cut()
      inner.closeAllConnections()
      await Promise.all([inner, tcp.server].map(close))
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function startTcp(innerPort: number) {
  const sockets = new Set<Socket>()
  let silent = false
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createTcpServer((client) => {
    keep(client)
    if (silent) return void client.pause()
    const inward = keep(connect(innerPort, '127.0.0.1'))
    client.pipe(inward).on('close', () => client.destroy())
    inward.pipe(client).on('close', () => inward.destroy())
  })
  return {
    server,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    setSilent: (on: boolean) => {
      silent = on
      if (on) for (const socket of sockets) socket.unpipe().pause()
    },
  }
}

const close = (server: Server): Promise<unknown> => new Promise((resolve) => server.close(resolve))

async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

type Kubeconfig = { server: string; certificate: string; token: string; namespace: string }

/** JSON, which is also YAML. */
function buildKubeconfig({ server, certificate, token, namespace }: Kubeconfig): string {
  const ca = Buffer.from(certificate).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    clusters: [{ name: 'proxy', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'proxy', user: { token } }],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy', namespace } }],
  })
}
