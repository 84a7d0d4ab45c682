// Three real NATS servers in a cluster on loopback. A forwarder carries the routes of each pair in each direction, so a
// test can cut a server off from the others while its clients stay connected.
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { inject } from 'vitest'
import { freePorts } from '../../support/free-ports.ts'
import { withNats } from '../../support/nats.ts'
import { type OwnServer, ownNats } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

const names = ['n1', 'n2', 'n3'] as const
export type NodeName = (typeof names)[number]

export type NatsCluster = {
  /** URLs of all servers, as in NATS_URL. */
  readonly url: string
  readonly names: readonly NodeName[]
  node(name: NodeName): OwnServer
  /** Cuts every route of this server; its clients stay connected. */
  partition(name: NodeName): void
  /** Ends all partitions. */
  join(): void
  /** Asks a server, by default whichever accepts the connection. */
  ask<T>(act: (connection: NatsConnection) => Promise<T>, name?: NodeName): Promise<T>
  /** Waits until the stream has a leader and all its copies are current. */
  untilCurrent(stream: string): Promise<StreamInfo>
  leaderOf(stream: string): Promise<NodeName>
  stop(): Promise<void>
}

export async function startNatsCluster(): Promise<NatsCluster> {
  const ports = await freePorts(names.length)
  const portOf = (name: NodeName): number => ports[names.indexOf(name)] ?? 0
  const routes = await Promise.all(
    names.flatMap((from) =>
      names.filter((to) => to !== from).map(async (to) => ({ from, to, forwarder: await startForwarder(portOf(to)) })),
    ),
  )
  const dir = join(inject('runDir'), 'nats-cluster')
  const startNode = async (name: NodeName): Promise<OwnServer> => {
    const others = routes
      .filter(({ from }) => from === name)
      .map(({ forwarder }) => `nats://127.0.0.1:${forwarder.port}`)
    const place = { dir: join(dir, name), say: () => undefined }
    mkdirSync(place.dir, { recursive: true })
    return ownNats(place, { config: clusterConfig(name, portOf(name), others) })
  }
  // A single server is never ready, so all start at once.
  const servers = await Promise.all(names.map(async (name) => [name, await startNode(name)] as const))
  const nodes = new Map(servers)
  const node = (name: NodeName): OwnServer => nodes.get(name) as OwnServer
  const url = names.map((name) => node(name).url).join(',')
  const ask: NatsCluster['ask'] = (act, name) => withNats(name === undefined ? url : node(name).url, act)
  const read = (stream: string): Promise<StreamInfo> =>
    ask(async (connection) => (await jetstreamManager(connection)).streams.info(stream))
  return {
    ...{ url, names, node, ask },
    partition: (name) => {
      for (const { from, to, forwarder } of routes) if (from === name || to === name) forwarder.cut()
    },
    join: () => {
      for (const { forwarder } of routes) forwarder.mend()
    },
    untilCurrent: (stream) =>
      until(
        `all copies of ${stream} are current`,
        async () => {
          const info = await read(stream)
          const { leader, replicas = [] } = info.cluster ?? {}
          const copies = replicas.filter(({ current, offline }) => current && offline !== true).length + 1
          return leader !== undefined && copies === info.config.num_replicas && info
        },
        // A copy in memory that was cut off catches up with the leader's next snapshot, up to two minutes later.
        { timeoutMs: 240_000, everyMs: 250 },
      ),
    leaderOf: (stream) =>
      until(`${stream} has a leader`, async () => (await read(stream)).cluster?.leader as NodeName | undefined),
    stop: async () => {
      await Promise.all(servers.map(([, server]) => server.stop()))
      for (const { forwarder } of routes) forwarder.close()
    },
  }
}

/** `no_advertise` keeps servers and clients from learning addresses that bypass the forwarders. */
const clusterConfig = (name: NodeName, port: number, routes: readonly string[]): string => `
server_name: ${name}
cluster { name: test, listen: "127.0.0.1:${port}", no_advertise: true, routes: ${JSON.stringify(routes)} }
`

type Forwarder = { readonly port: number; cut(): void; mend(): void; close(): void }

/** Forwards connections to a port of this machine until it is cut. */
async function startForwarder(target: number): Promise<Forwarder> {
  const sockets = new Set<Socket>()
  let isCut = false
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server: Server = createServer((inward) => {
    if (isCut) return void inward.destroy()
    const outward = keep(connect(target, '127.0.0.1'))
    keep(inward).pipe(outward).pipe(inward)
    inward.on('close', () => outward.destroy())
    outward.on('close', () => inward.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true
      cutAll()
    },
    mend: () => {
      isCut = false
    },
    close: () => {
      server.close()
      cutAll()
    },
  }
}
