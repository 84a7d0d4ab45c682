// `dns.lookup` of this process, without its threads.
import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import { createNameCache } from './name-cache.ts'
import { NameError, queryName } from './query-name.ts'

type Callback = (error: Error | null, address: string | readonly LookupAddress[], family?: number) => void
type FindAddresses = (name: string) => Promise<readonly LookupAddress[]>

/**
 * Replaces `dns.lookup` in the module that all others share: sockets of `node:net` (hence undici, the S3 client, pg and
 * whatever comes), NATS and gRPC read it there for each connection (A51). Called first in each of our processes.
 */
export function useOwnLookup(find: FindAddresses = createNameCache((name) => queryName(name))): void {
  const lookup = lookupOver(find)
  Object.assign(dns, { lookup: withCallback(lookup) })
  Object.assign(dns.promises, { lookup })
  syncBuiltinESMExports()
}

/** As `dns.promises.lookup`. `hints` have no meaning here: a family that the machine lacks fails to connect. */
function lookupOver(find: FindAddresses) {
  return async (hostname: string, options: LookupOptions | number = {}): Promise<LookupAddress | LookupAddress[]> => {
    const { all = false, family = 0, order = dns.getDefaultResultOrder() } = toOptions(options)
    const literal = isIP(hostname)
    const known = literal === 0 ? await find(hostname.toLowerCase()) : [{ address: hostname, family: literal }]
    const wanted = Number(String(family).replace(/^IPv/, ''))
    const addresses = known.filter((each) => wanted === 0 || each.family === wanted)
    if (order === 'ipv6first') addresses.sort((one, other) => other.family - one.family)
    const [first] = addresses
    if (first === undefined) throw new NameError('ENOTFOUND', hostname)
    return all ? addresses : first
  }
}

const toOptions = (options: LookupOptions | number): LookupOptions =>
  typeof options === 'number' ? { family: options } : options

/** As `dns.lookup`. The callback runs by itself: what it throws is no error of the look-up. */
const withCallback =
  (lookup: ReturnType<typeof lookupOver>) =>
  (hostname: string, options: LookupOptions | number | Callback, callback?: Callback): void => {
    const done = typeof options === 'function' ? options : callback
    if (done === undefined) throw new TypeError('dns.lookup needs a callback')
    lookup(hostname, typeof options === 'function' ? {} : options).then(
      (found) => process.nextTick(done, null, ...(Array.isArray(found) ? [found] : [found.address, found.family])),
      (error: Error) => process.nextTick(done, error),
    )
  }
