import { Resolver } from 'node:dns/promises'

/**
 * Every IPv4 and IPv6 address of a name, within `timeoutMs`.
 * @throws Error when there is none, whatever the cause; what the resolver said is for logs only.
 */
export type Resolve = (hostname: string, timeoutMs: number) => Promise<readonly string[]>

/**
 * Asks the DNS servers themselves. Not `dns.lookup`: that runs on four threads shared by the whole process, so a few
 * names with a dead name server would hold up everybody's; and it completes short names with the cluster's own
 * domains. Hosts files are not read.
 */
export const resolveName: Resolve = async (hostname, timeoutMs) => {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 4), tries: 2 })
  const timer = setTimeout(() => resolver.cancel(), timeoutMs)
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    // A family that does not answer is left out: only what was answered is judged, and only that is dialled.
    const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    throw new Error('name does not resolve', { cause: four.status === 'rejected' ? four.reason : undefined })
  } finally {
    clearTimeout(timer)
  }
}
