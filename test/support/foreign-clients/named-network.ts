// A network in which a host name belongs to the service under test: a namespace with a loopback interface alone, a
// hosts file and a certificate of the test's own. Programs with a fixed URL run there unchanged.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeThrowAwayCertificate } from '../throw-away-certificate.ts'

const run = promisify(execFile)

/** Bound against hanging. */
const timeoutMs = 100_000

type Program = {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export type NamedNetwork = {
  /** Runs a program to its end; returns what it prints. @throws Error with its output when it fails */
  run(program: Program): Promise<string>
  stop(): Promise<void>
}

/** `dir` must be short: the path of a Unix socket has at most 107 bytes. */
export async function startNamedNetwork(dir: string, host: string, target: string): Promise<NamedNetwork> {
  mkdirSync(dir, { recursive: true })
  const [hosts, certificate, key, socket] = ['hosts', 'cert.pem', 'key.pem', 'api'].map((name) => join(dir, name))
  const made = makeThrowAwayCertificate(host)
  writeFileSync(hosts ?? '', `127.0.0.1 localhost ${host}\n`)
  writeFileSync(certificate ?? '', made.certificate)
  writeFileSync(key ?? '', made.key, { mode: 0o600 })
  const relay = await relayTo(socket ?? '', new URL(target))
  const gateway = join(import.meta.dirname, 'gateway.ts')
  const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const enter = ['--net', '--mount', '--propagation', 'private', ...asRoot, 'sh', '-c', prepare, 'sh', hosts ?? '']
  const trust = { NODE_EXTRA_CA_CERTS: certificate ?? '', REQUESTS_CA_BUNDLE: certificate ?? '' }
  return {
    run: async ({ command, args, cwd, env }) => {
      const inside = [process.execPath, gateway, socket ?? '', certificate ?? '', key ?? '', command, ...args]
      const options = { cwd, timeout: timeoutMs, env: { ...process.env, ...trust, ...env }, maxBuffer: 100_000_000 }
      return (await run('unshare', [...enter, ...inside], options)).stdout
    },
    stop: () => new Promise((resolve) => relay.close(() => resolve())),
  }
}

const prepare = 'ip link set lo up && mount --bind "$1" /etc/hosts && shift && exec "$@"'

/** A Unix socket is reachable from the namespace, unlike a port of the host. */
async function relayTo(socketFile: string, { hostname, port }: URL) {
  const server = createServer((client) => {
    const api = connect(Number(port), hostname)
    client.pipe(api).pipe(client)
    client.on('error', () => api.destroy())
    api.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(socketFile, resolve))
  return server
}
