import { Resolver } from 'node:dns/promises'

/** All IPv4 and IPv6 addresses of a name. @throws Error if there is none in time; its message is for logs only */
export type Resolve = (hostname: string, timeoutMs: number) => Promise<readonly string[]>

/**
 * Queries the DNS servers directly. `dns.lookup` shares its threads with the whole process, so names with a dead name
 * server would delay others, and it tries the cluster's search domains. Hosts files are not read.
 */
export const resolveName: Resolve = async (hostname, timeoutMs) => {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 4), tries: 2 })
  const timer = setTimeout(() => resolver.cancel(), timeoutMs)
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    // A family without an answer is left out: only answered addresses are checked and dialled.
    const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    throw new Error('name does not resolve', { cause: four.status === 'rejected' ? four.reason : undefined })
  } finally {
    clearTimeout(timer)
  }
}
