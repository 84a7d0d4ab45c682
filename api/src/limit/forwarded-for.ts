import { BlockList } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** Where an ingress or a side-car is, as seen from a pod; IPv4 in IPv6's clothes is matched too. */
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

/**
 * For `TRUSTED_PROXY_HOPS=0`. Behind a proxy all clients are then one address, and the wrong keys of one use up the
 * limit of all (D6). A header from a public peer means nothing, since anyone can send it. Once in a process's life, so
 * that a flood of requests is no flood of lines.
 */
export function warnOfUnreadForwarding(app: FastifyInstance, logger: Logger): void {
  let warned = false
  app.addHook('onRequest', (request, _reply, done) => {
    const { remoteAddress } = request.socket
    if (warned || request.headers['x-forwarded-for'] === undefined || remoteAddress === undefined) return done()
    if (isPrivatePeer(remoteAddress)) {
      warned = true
      logger.warn(
        { peer: remoteAddress },
        'X-Forwarded-For is not believed, and all clients of this peer count as one address: if it is a proxy of ' +
          'yours, set TRUSTED_PROXY_HOPS to the number of proxies in front',
      )
    }
    done()
  })
}
