// Ports of `make up`, all on 127.0.0.1, with defaults and the variables that move them.

/** Part that listens, as named in messages, `.local/run` and `.local/log`. */
export type PartName = 'postgres' | 'nats' | 'object-store' | 'triton' | 'api' | 'worker' | 'dispatcher'

type PortRow = { readonly part: PartName; readonly variable: string; readonly fallback: number; readonly what: string }

const portTable = {
  api: { part: 'api', variable: 'MATTE_PORT', fallback: 8080, what: 'the service' },
  apiHealth: { part: 'api', variable: 'MATTE_API_HEALTH_PORT', fallback: 8081, what: 'health of the api' },
  workerHealth: { part: 'worker', variable: 'MATTE_WORKER_HEALTH_PORT', fallback: 8082, what: 'health of the worker' },
  dispatcherHealth: {
    part: 'dispatcher',
    variable: 'MATTE_DISPATCHER_HEALTH_PORT',
    fallback: 8083,
    what: 'health of the dispatcher',
  },
  postgres: { part: 'postgres', variable: 'MATTE_POSTGRES_PORT', fallback: 5442, what: 'PostgreSQL' },
  nats: { part: 'nats', variable: 'MATTE_NATS_PORT', fallback: 4242, what: 'NATS' },
  natsMonitor: { part: 'nats', variable: 'MATTE_NATS_MONITOR_PORT', fallback: 8242, what: 'health of NATS' },
  s3: { part: 'object-store', variable: 'MATTE_S3_PORT', fallback: 8343, what: 'the object store' },
  tritonHttp: { part: 'triton', variable: 'MATTE_TRITON_HTTP_PORT', fallback: 8900, what: 'Triton, HTTP' },
  tritonGrpc: { part: 'triton', variable: 'MATTE_TRITON_GRPC_PORT', fallback: 8901, what: 'Triton, gRPC' },
  tritonMetrics: { part: 'triton', variable: 'MATTE_TRITON_METRICS_PORT', fallback: 8902, what: 'Triton, metrics' },
} as const satisfies Record<string, PortRow>

export const portRows = (): readonly PortRow[] => Object.values(portTable)

export type Ports = { readonly [name in keyof typeof portTable]: number }

type Env = Readonly<Record<string, string | undefined>>

/** @throws Error with every invalid variable */
export function readPorts(env: Env): Ports {
  const errors: string[] = []
  const entries = Object.entries(portTable).map(([name, { variable, fallback }]) => {
    const port = Number(env[variable] || fallback)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) errors.push(`${variable} must be a port, 1 to 65535`)
    return [name, port]
  })
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return Object.fromEntries(entries) as Ports
}

type PortUse = Omit<PortRow, 'fallback'> & { readonly port: number }

export function listPortUses(ports: Ports, parts: ReadonlySet<PartName>): PortUse[] {
  const rows = Object.entries(portTable).map(([name, row]) => ({ ...row, port: ports[name as keyof Ports] }))
  const { s3: _, ...inner } = deriveObjectStorePorts(ports.s3)
  const { part, variable } = portTable.s3
  const derived = Object.values(inner).map((port) => ({ part, variable, port, what: 'inside the object store' }))
  return [...rows, ...derived].filter((row) => parts.has(row.part))
}

export type ObjectStorePorts = {
  readonly s3: number
  readonly s3Grpc: number
  readonly master: number
  readonly masterGrpc: number
  readonly volume: number
  readonly volumeGrpc: number
  readonly filer: number
  readonly filerGrpc: number
  readonly admin: number
  /** Always `admin` + 10,000. */
  readonly adminGrpc: number
}

/** Derives eight consecutive ports 10,000 above `s3` (below it near the end of the range). */
export function deriveObjectStorePorts(s3: number): ObjectStorePorts {
  const first = s3 > 50_000 ? s3 - 10_000 : s3 + 10_000
  const inner = Array.from({ length: 8 }, (_, index) => first + 1 + index)
  return toObjectStorePorts([s3, ...inner])
}

/** Nine ports: `s3` first, the admin part's gRPC port last. */
export function toObjectStorePorts([
  s3 = 0,
  s3Grpc = 0,
  master = 0,
  masterGrpc = 0,
  volume = 0,
  volumeGrpc = 0,
  filer = 0,
  filerGrpc = 0,
  adminGrpc = 0,
]: readonly number[]): ObjectStorePorts {
  const admin = adminGrpc - 10_000
  return { s3, s3Grpc, master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, admin, adminGrpc }
}
