// Every port that `make up` uses, its default, and the variable that moves it: here and nowhere else.
// All of them listen on 127.0.0.1 only.
import { deriveObjectStorePorts } from './object-store-ports.ts'

/** The part that listens, as it is called in messages, in `.local/run` and in `.local/log`. */
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

/** The table in its order, for the documentation. */
export const portRows = (): readonly PortRow[] => Object.values(portTable)

export type Ports = { readonly [name in keyof typeof portTable]: number }

type Env = Readonly<Record<string, string | undefined>>

/** @throws Error that names every variable which is no port */
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

/** The ports of these parts, those that the object store derives from its own included. */
export function listPortUses(ports: Ports, parts: ReadonlySet<PartName>): PortUse[] {
  const rows = Object.entries(portTable).map(([name, row]) => ({ ...row, port: ports[name as keyof Ports] }))
  const { s3: _, ...inner } = deriveObjectStorePorts(ports.s3)
  const { part, variable } = portTable.s3
  const derived = Object.values(inner).map((port) => ({ part, variable, port, what: 'inside the object store' }))
  return [...rows, ...derived].filter((row) => parts.has(row.part))
}
