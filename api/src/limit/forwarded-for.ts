import { BlockList } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** Peers that may be an ingress or a sidecar; IPv4-mapped IPv6 addresses match too. */
const privatePeers = new BlockList()
for (const [network, prefix, family] of [
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
] as const) {
  privatePeers.addSubnet(network, prefix, family)
}

export const isPrivatePeer = (address: string): boolean =>
  privatePeers.check(address.split('%')[0] ?? '', address.includes(':') ? 'ipv6' : 'ipv4')

/** Logs once that clients behind a proxy share one limit. A header from a public peer proves nothing. */
export function warnOfUntrustedForwarding(app: FastifyInstance, logger: Logger): void {
  let warned = false
  app.addHook('onRequest', (request, _reply, done) => {
    const { remoteAddress } = request.socket
    if (warned || request.headers['x-forwarded-for'] === undefined || remoteAddress === undefined) return done()
    if (isPrivatePeer(remoteAddress)) {
      warned = true
      logger.warn(
        { peer: remoteAddress },
        'X-Forwarded-For is ignored, so all clients of this peer count as one address. If the peer is your ' +
          'proxy, set TRUSTED_PROXY_HOPS to the number of proxies in front',
      )
    }
    done()
  })
}
