// matte door as a process, with a service, other hosts and a proxy in this one.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newFolder, runCli, startCli } from '../../testing/run-cli.fixtures.ts'
import { until } from '../../testing/until.fixtures.ts'

const timeout = { timeout: 60_000 }

type Seen = { readonly line: string; readonly headers: IncomingMessage['headers']; readonly body: string }

let seen: Seen[]
let hasDoor: boolean
let servers: Server[]
let url: string

beforeEach(async () => {
  seen = []
  hasDoor = true
  servers = []
  const service = createServer(async (request, response) => {
    const { method, url: path, headers } = request
    if (headers['x-api-key'] === undefined) {
      response.writeHead(hasDoor ? 403 : 404, { 'content-type': 'application/json' })
      return void response.end(hasDoor ? '{"errors":[{"title":"API Key missing","code":"auth_failed"}]}' : '{}')
    }
    seen.push({ line: `${method} ${path}`, headers, body: await text(request) })
    response.setHeader('x-width', '5').end('a cut-out')
  })
  url = await listen(service)
})
afterEach(() => {
  for (const server of servers) server.close().closeAllConnections()
})

async function listen(server: Server): Promise<string> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const behindDoor = (script: string, env: Record<string, string> = {}) =>
  runCli(['door', '--url', url, '--listen', '--', 'sh', '-c', script], { env })

const call = (path: string): string => `curl -sS -D - -H 'X-Api-Key: k' -F size=full 'https://api.remove.bg${path}'`

describe('matte door', timeout, () => {
  it('sends a call of api.remove.bg to Matte, and its response back', async () => {
    const { code, stdout, stderr } = await behindDoor(call('/v1.0/removebg?x=1'))
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('x-width: 5') })
    expect(stdout).toMatch(/a cut-out$/)
    expect(seen).toMatchObject([{ line: 'POST /v1.0/removebg?x=1', headers: { 'x-api-key': 'k', host: url.slice(7) } }])
    expect(seen[0]?.body).toContain('full')
    expect(stderr).toMatch(/^api\.remove\.bg: POST \/v1\.0\/removebg\?x=1 200 in/)
  })

  it('ends with the exit code of the program, and leaves no file behind', async () => {
    const { code, stdout } = await behindDoor('echo "$SSL_CERT_FILE"; exit 7')
    expect(code).toBe(7)
    expect(existsSync(dirname(stdout.trim()))).toBe(false)
    expect(await behindDoor('kill -TERM $$')).toMatchObject({ code: 143 })
  })

  it('writes no private key, and keeps the folder of its files from other users', async () => {
    const script = 'dir=$(dirname "$SSL_CERT_FILE"); cat "$dir"/*; stat -c %a "$dir"'
    const { stdout } = await behindDoor(script)
    expect(stdout).toContain('BEGIN CERTIFICATE')
    expect(stdout).not.toContain('PRIVATE KEY')
    expect(stdout).toMatch(/\n700\n$/)
  })

  it('is trusted only by its program', async () => {
    const { listening, variables, ...door } = await openDoor()
    const port = Number(new URL(listening).port)
    const handshake = (ca?: string) =>
      new Promise<string>((resolve) => {
        const options = { port, host: '127.0.0.1', servername: 'api.remove.bg', ...(ca !== undefined && { ca }) }
        const socket = connectTls(options, () => resolve('trusted'))
        socket.on('error', ({ message }) => resolve(message))
      })
    expect(await handshake()).not.toBe('trusted')
    expect(await handshake(readFileSync(variables.MATTE_DOOR_CA, 'utf8'))).toBe('trusted')
    door.process.kill('SIGTERM')
    await door.ended
    expect(existsSync(variables.MATTE_DOOR_CA)).toBe(false)
  })

  it('passes other hosts on unread, also through the proxy that it was given', async () => {
    const other = await listen(createServer((_request, response) => void response.end('another host')))
    const plain = await behindDoor(`curl -sS --noproxy none.example ${other}/x`)
    expect(plain).toMatchObject({ code: 0, stdout: 'another host' })
    const asked: string[] = []
    const proxy = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      response.end('by the proxy')
    })
    proxy.on('connect', (request, socket) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      const onwards = connect(Number(new URL(other).port), '127.0.0.1')
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onwards).pipe(socket)
    })
    const address = (await listen(proxy)).replace('http://', 'http://me:secret@')
    const pair = `Basic ${Buffer.from('me:secret').toString('base64')}`
    const script = 'curl -sS -p http://other.example:8080/y; curl -sS http://plain.example/z'
    const { stdout, stderr } = await behindDoor(script, { HTTPS_PROXY: address })
    expect({ stdout, stderr }).toEqual({ stdout: 'another hostby the proxy', stderr: '' })
    expect(asked).toEqual([`other.example:8080 ${pair}`, `http://plain.example/z ${pair}`])
  })

  it('keeps the authorities that the program trusted', async () => {
    const own = join(newFolder(), 'own.pem')
    writeFileSync(own, 'of its own')
    const { stdout } = await behindDoor('grep -c "of its own" "$NODE_EXTRA_CA_CERTS"', { SSL_CERT_FILE: own })
    expect(stdout).toBe('1\n')
  })

  it('answers 502 in the form of remove.bg while Matte is away', async () => {
    const { listening, ...door } = await openDoor()
    for (const server of servers) server.close().closeAllConnections()
    const script = `curl -sS -k -x ${listening} -w ' %{http_code}' https://api.remove.bg/v1.0/account`
    const { stdout } = await runShell(script)
    expect(stdout).toMatch(/"code":"service_unavailable".* 502$/)
    door.process.kill('SIGINT')
    expect((await door.ended).code).toBe(0)
  })

  it('answers 400 to a page that calls it as a server, and to other protocols than http', async () => {
    const { stdout } = await behindDoor(
      `curl -sS -o /dev/null -w '%{http_code}' --noproxy '*' "$HTTPS_PROXY/v1.0/account"`,
    )
    expect(stdout).toBe('400')
    expect(seen).toEqual([])
    const ftp = await behindDoor(`curl -s -o /dev/null -w '%{http_code}' -x "$HTTPS_PROXY" ftp://files.example/a`)
    expect(ftp.stdout).toBe('400')
  })

  it('refuses a service without a door, an unreachable one, and an address of the network', async () => {
    hasDoor = false
    expect(await behindDoor('true')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('doors.removebg.enabled'),
    })
    for (const server of servers) server.close().closeAllConnections()
    expect(await behindDoor('true')).toMatchObject({ code: 5 })
    for (const address of ['0.0.0.0:8443', '192.0.2.1', 'npm', '127.0.0.1:70000']) {
      const { code, stderr } = await runCli(['door', '--url', url, '--listen', address, '--', 'true'])
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('address of this machine') })
    }
    expect(await runCli(['door', '--listen', '--', 'true'])).toMatchObject({ code: 2 })
    expect(await runCli(['door', '--url', 'https://api.remove.bg', '--', 'true'])).toMatchObject({ code: 2 })
  })

  it('says that there is no such program', async () => {
    const { code, stderr } = await runCli(['door', '--url', url, '--listen', '--', 'no-such-program'])
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('no program no-such-program') })
  })
})

/** A door without a program, once it is open. */
async function openDoor() {
  const door = startCli(['door', '--url', url, '--listen', '0', '--json'], { cwd: newFolder() })
  let printed = ''
  door.process.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  await until(() => printed.includes('\n'))
  return { ...door, ...(JSON.parse(printed) as { listening: string; variables: Record<'MATTE_DOOR_CA', string> }) }
}

const runShell = (script: string) =>
  new Promise<{ stdout: string }>((resolve, reject) =>
    execFile('sh', ['-c', script], (error, stdout) => (error ? reject(error) : resolve({ stdout }))),
  )
