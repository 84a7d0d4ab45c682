import type { Server, Socket } from 'node:net'
import { SlotPool } from '@matte/core/runtime/concurrency/slot-pool'
import { counter } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import { clientNetwork } from './client-network.ts'

export const connectionMetrics = {
  closed: counter({
    name: 'matte_http_connections_closed_total',
    help: 'Connections closed when they were opened: too many of all addresses, or of one.',
    labels: { of: ['all', 'address'] },
    reader: 'saturation',
  }),
}

type ConnectionLimits = {
  readonly maxConnections: number
  readonly trustedProxyHops: number
  readonly registry: Registry
}

/** Closes connections above MAX_CONNECTIONS, and above a quarter of them from one IPv4 address or IPv6 /64. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const { maxConnections, trustedProxyHops, registry } = limits
  const closed = connectionMetrics.closed.register(registry)
  server.maxConnections = maxConnections
  server.on('drop', () => closed.inc({ of: 'all' }))
  // Connections then come from proxies, which carry those of all clients.
  if (trustedProxyHops > 0) return
  const pool = new SlotPool(maxConnections)
  server.on('connection', (socket: Socket) => {
    const address = clientNetwork(socket.remoteAddress ?? '')
    if (!pool.hasShare(address)) {
      closed.inc({ of: 'address' })
      socket.destroy()
      return
    }
    pool.enter(address)
    socket.once('close', () => pool.leave(address))
  })
}
