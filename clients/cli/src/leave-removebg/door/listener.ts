// The local listener. One port speaks three protocols: TLS for programs that reach it by the name api.remove.bg, and
// HTTP for a proxy's requests, CONNECT and plain ones. Calls to api.remove.bg end here and go on to Matte; every other
// host is passed on unread, so the rest of a program works as before.
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, request as requestHttps } from 'node:https'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { removebgHost } from '../service-url.ts'
import type { DoorCertificate } from './certificate.ts'

export type Address = { readonly host: string; readonly port: number }

export type Forwarded = {
  readonly method: string
  readonly path: string
  /** Undefined: the program or Matte ended the call before its response. */
  readonly status: number | undefined
  readonly durationMs: number
}

export type DoorOptions = {
  readonly address: Address
  readonly serviceUrl: string
  readonly certificate: DoorCertificate
  /** The proxy that other hosts go through. */
  readonly upstreamProxy: URL | undefined
  readonly onForwarded: (call: Forwarded) => void
}

export type Listener = { readonly port: number; close(): Promise<void> }

/** First byte of a TLS handshake. */
const tlsHandshake = 0x16

const hopByHop = ['connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'upgrade']

/** @throws Error of the operating system, such as EADDRINUSE and EACCES */
export async function startListener(options: DoorOptions): Promise<Listener> {
  const { address, certificate, upstreamProxy } = options
  const door = createTlsServer({ cert: certificate.certificate, key: certificate.key }, (request, response) =>
    forward(request, response, options),
  )
  const proxy = createServer((request, response) => passOn(request, response, upstreamProxy))
  proxy.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { host, port } = readAuthority(request.url)
    if (host !== removebgHost) return tunnel({ host, port }, { socket, head, upstreamProxy })
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if (head.length > 0) socket.unshift(head)
    door.emit('connection', socket)
  })
  const open = new Set<Socket>()
  const server = createNetServer((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy())
    socket.once('data', (first) => {
      socket.pause()
      socket.unshift(first)
      // TLS takes what is buffered; the HTTP parser waits until it flows again.
      if (first[0] === tlsHandshake) return door.emit('connection', socket)
      proxy.emit('connection', socket)
      return socket.resume()
    })
  })
  // A program that gives up in the middle of a handshake is no event for people.
  door.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

const readAuthority = (text = ''): Address => {
  const [, host = '', port = '443'] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(text) ?? []
  return { host: host.toLowerCase(), port: Number(port) }
}

/** Sends a call of remove.bg to Matte, whose response is passed back as it comes. */
function forward(request: IncomingMessage, response: ServerResponse, { serviceUrl, onForwarded }: DoorOptions): void {
  const startedMs = performance.now()
  const { method = 'GET', url: path = '/' } = request
  const target = new URL(`${serviceUrl}${path}`)
  const send = target.protocol === 'https:' ? requestHttps : requestHttp
  const headers = { ...withoutHopByHop(request), host: target.host }
  const call = send(target, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer))
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  call.on('error', (error: NodeJS.ErrnoException) => {
    if (response.headersSent) return void response.destroy()
    const detail = `The door of matte cannot reach ${target.origin}: ${error.code ?? error.message}`
    const errors = [{ title: 'Matte cannot be reached', code: 'service_unavailable', detail }]
    response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ errors }))
  })
  response.on('close', () => {
    call.destroy()
    const status = response.writableFinished ? response.statusCode : undefined
    onForwarded({ method, path, status, durationMs: performance.now() - startedMs })
  })
  request.pipe(call)
}

/** `expect` belongs to this connection, whose server has answered it. */
const withoutHopByHop = ({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && name !== 'expect'))

type Tunnelled = { readonly socket: Duplex; readonly head: Buffer; readonly upstreamProxy: URL | undefined }

/** Passes bytes to another host, through the proxy that this process itself was given. */
function tunnel({ host, port }: Address, { socket, head, upstreamProxy }: Tunnelled): void {
  const onwards =
    upstreamProxy === undefined ? connect(port, host) : connect(portOf(upstreamProxy), upstreamProxy.hostname)
  onwards.once('connect', () => {
    if (upstreamProxy === undefined) socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    // The other proxy's answer is the answer to the program.
    else onwards.write(connectRequest(`${host}:${port}`, upstreamProxy))
    onwards.write(head)
    socket.pipe(onwards).pipe(socket)
  })
  onwards.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  socket.on('error', () => onwards.destroy()).on('close', () => onwards.destroy())
}

const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80)

const connectRequest = (authority: string, proxy: URL): string => {
  const credentials = credentialsOf(proxy)
  const line = credentials === undefined ? '' : `Proxy-Authorization: ${credentials}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${line}\r\n`
}

function credentialsOf({ username, password }: URL): string | undefined {
  if (username === '') return undefined
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

/** A plain http request of a proxy's client goes on to its host. Anything else is no request to a proxy. */
function passOn(request: IncomingMessage, response: ServerResponse, upstreamProxy: URL | undefined): void {
  const { method, url = '' } = request
  if (!URL.canParse(url) || new URL(url).protocol !== 'http:') {
    response.writeHead(400, { 'content-type': 'text/plain' }).end(`This is a proxy for ${removebgHost}.\n`)
    return
  }
  const target = new URL(url)
  const headers = { ...withoutHopByHop(request), host: target.host }
  const credentials = upstreamProxy && credentialsOf(upstreamProxy)
  const onwards =
    upstreamProxy === undefined
      ? requestHttp(target, { method, headers })
      : requestHttp({
          host: upstreamProxy.hostname,
          port: portOf(upstreamProxy),
          path: url,
          method,
          headers: { ...headers, ...(credentials && { 'proxy-authorization': credentials }) },
        })
  onwards.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer))
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  onwards.on('error', () => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
  response.on('close', () => onwards.destroy())
  request.pipe(onwards)
}
