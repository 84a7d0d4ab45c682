// Variables that lead the usual clients to the door, and a folder with the files that they name.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { removebgHost } from '../service-url.ts'

type Env = Readonly<Record<string, string | undefined>>

export type DoorFiles = {
  /** Variables that a program needs. */
  readonly variables: Readonly<Record<string, string>>
  /** Deletes the files. No private key is among them. */
  remove(): void
}

/** Bundles of the usual systems: Debian, Fedora, SUSE and Alpine, macOS. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** Variables that name one file with all authorities that a program trusts. */
const bundleVariables = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS'] as const

const loopbackHosts = 'localhost,127.0.0.1,::1'

export type Place = { readonly authority: string; readonly proxyUrl: string; readonly env: Env }

export function writeDoorFiles({ authority, proxyUrl, env }: Place): DoorFiles {
  const dir = mkdtempSync(join(tmpdir(), 'matte-door-'))
  const [authorityFile, bundle] = ['authority.pem', 'bundle.pem'].map((name) => join(dir, name)) as [string, string]
  writeFileSync(authorityFile, authority)
  writeFileSync(bundle, [authority, ...readTrusted(env)].join('\n'))
  writeFileSync(join(dir, 'door.ini'), `curl.cainfo="${bundle}"\nopenssl.cafile="${bundle}"\n`)
  writeFileSync(join(dir, 'door.cjs'), nodeHook(new URL(proxyUrl)))
  const noProxy = [env.NO_PROXY ?? env.no_proxy, loopbackHosts].filter(Boolean).join(',')
  return {
    variables: {
      HTTPS_PROXY: proxyUrl,
      https_proxy: proxyUrl,
      // Ruby looks for this one with https too.
      http_proxy: proxyUrl,
      NO_PROXY: noProxy,
      no_proxy: noProxy,
      NODE_OPTIONS: [env.NODE_OPTIONS, `--require ${quoteForNode(join(dir, 'door.cjs'))}`].filter(Boolean).join(' '),
      ...Object.fromEntries(bundleVariables.map((name) => [name, bundle])),
      // An empty entry keeps the folders that PHP was built with.
      PHP_INI_SCAN_DIR: `${env.PHP_INI_SCAN_DIR ?? ''}${delimiter}${dir}`,
      MATTE_DOOR_CA: authorityFile,
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** The authorities that the program trusts already, because its other connections still need them. */
function readTrusted(env: Env): string[] {
  const named = bundleVariables.map((name) => env[name]).filter((path) => path !== undefined && path !== '')
  const system = systemBundles.find((path) => existsSync(path))
  const files = new Set([...named, ...(system === undefined ? [] : [system])])
  const texts = [...files]
    .filter((path) => path !== undefined && existsSync(path))
    .map((path) => readFileSync(path ?? '', 'utf8'))
  return texts.length > 0 ? texts : [...rootCertificates]
}

/** Most of Node's clients know no HTTPS_PROXY, and until 22.21 Node itself does not either. All of them call this. */
const nodeHook = ({ hostname, port }: URL): string => `
const tls = require('node:tls')
const { connect } = tls
const door = ${JSON.stringify({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })}
tls.connect = (...args) => {
  const options = args.find((arg) => arg !== null && typeof arg === 'object')
  const isRemovebg = options?.host === ${JSON.stringify(removebgHost)} && options.socket === undefined
  if (isRemovebg) Object.assign(options, door, { servername: ${JSON.stringify(removebgHost)}, lookup: undefined })
  return connect(...args)
}
require('node:module').syncBuiltinESMExports()
`

/** As NODE_OPTIONS takes a path with spaces. */
const quoteForNode = (path: string): string => `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
