// A proxy in front of the real API server that misbehaves as told. It is two servers: the outer one knows only TCP and
// can cut connections or go silent; the inner one ends TLS with a certificate of its own, so that single answers and
// watch events can be replaced or lost. The API server is spoken to with the kubeconfig's credentials; whoever asks us
// needs the token in `kubeconfig`.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer, type RequestOptions, request } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/load-config'
import { makeThrowAwayCertificate } from './throw-away-certificate.ts'

/** A request as it came; a fault may change `url` before it is passed on. */
export type ProxiedRequest = {
  readonly method: string
  readonly url: URL
  readonly isWatch: boolean
  /** When it came, by the monotonic clock, in milliseconds. */
  readonly at: number
  /** What it was answered; undefined before. */
  status?: number
}

export type Answer = {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: string
}

type Fault = (request: ProxiedRequest) => Answer | undefined | Promise<Answer | undefined>

export type FaultProxy = {
  /** A kubeconfig that leads here, for children; and the same, loaded. */
  readonly kubeconfig: string
  readonly config: LoadedConfig
  /** What was asked so far. */
  readonly requests: readonly ProxiedRequest[]
  /** Ends every connection there is. */
  cut(): void
  /** From now on every connection, new ones too, stays open and carries nothing. */
  silence(): void
  /** New connections carry again; the silent ones remain silent. */
  speak(): void
  /** Ends every connection, and refuses new ones, as when the API server is restarted. */
  goAway(): Promise<void>
  /** Listens again, on the same port. */
  comeBack(): Promise<void>
  /** Answers itself when `fault` gives an answer; what `fault` waits for holds the request back. */
  onRequest(fault: Fault): void
  /** Loses, or changes, what a watch tells: undefined loses the line. */
  onWatchLine(change: (line: string) => string | undefined): void
  /** The only token taken from now on. */
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
    // `connection` is about the connection behind us; in front it would end every connection after one answer.
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
  inner.keepAliveTimeout = 120_000 // an idle connection ends when a test says so
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

/** JSON, which is YAML too. */
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
