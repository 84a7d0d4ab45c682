// A name asked of the name servers themselves, by c-ares: over sockets of this thread. `getaddrinfo`, which Node uses
// by default, takes one of libuv's threads for as long as it waits, and waits for one while images are decoded on them.
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { addressesIn, candidatesOf, readSystemFiles, type SystemFiles, searchRulesOf } from './system-files.ts'

export type NameAnswer = { readonly addresses: readonly LookupAddress[]; readonly ttlSeconds: number }

/** ENOTFOUND: there is no such name. EAI_AGAIN: nobody could say. Both as `dns.lookup` calls them. */
export class NameError extends Error {
  override name = 'NameError'
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'
  readonly hostname: string
  constructor(code: NameError['code'], hostname: string, cause?: unknown) {
    super(`${code === 'ENOTFOUND' ? 'no address for' : 'no answer about'} ${hostname}`, { cause })
    this.code = code
    this.hostname = hostname
  }
}

/** Below the second that a connection to the store may take, so that one lost packet is made up for within it. */
const tryTimeoutMs = 300
const tries = 4
/** For all tries of all completions together. */
const limitMs = 3_000

/** Of what is no record, such as a line of a hosts file: how soon it is looked at again. */
const fileTtlSeconds = 10
/** Of an answer for one family while the other had none: it is asked again soon. */
const halfTtlSeconds = 1

/** Both families of a name, IPv4 first. @throws NameError */
export async function queryName(
  hostname: string,
  { hosts, resolvConf }: SystemFiles = readSystemFiles(),
): Promise<NameAnswer> {
  const own = ownAddresses(hostname.replace(/\.$/, ''), hosts)
  if (own.length > 0) return { addresses: own.map(toLookupAddress).sort(byFamily), ttlSeconds: fileTtlSeconds }
  // Made for each name, since it reads the name servers when it is made, and can be ended alone.
  const resolver = new Resolver({ timeout: tryTimeoutMs, tries })
  const timer = setTimeout(() => resolver.cancel(), limitMs)
  let unclear: unknown
  try {
    for (const candidate of candidatesOf(hostname, searchRulesOf(resolvConf))) {
      const { answer, error } = await askBoth(resolver, candidate)
      if (answer) return answer
      if (!saysNone(error)) unclear = error
      // A server that fails for one domain may know the next; one that does not answer is not asked again.
      if (unclear !== undefined && codeOf(unclear) !== 'ESERVFAIL') break
    }
  } finally {
    clearTimeout(timer)
  }
  throw new NameError(unclear === undefined ? 'ENOTFOUND' : 'EAI_AGAIN', hostname, unclear)
}

/** By the hosts file; and RFC 6761: localhost, and all below it, is this machine. */
function ownAddresses(name: string, hosts: string): readonly string[] {
  const listed = addressesIn(hosts, name)
  if (listed.length > 0) return listed
  return /(^|\.)localhost$/.test(name) ? ['127.0.0.1', '::1'] : []
}

type Asked = { readonly answer?: NameAnswer; readonly error?: unknown }

async function askBoth(resolver: Resolver, name: string): Promise<Asked> {
  const families = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    resolver.resolve6(name, { ttl: true }),
  ])
  const records = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []))
  const errors = families.flatMap((family) => (family.status === 'rejected' ? [family.reason as unknown] : []))
  const error = errors.find((each) => !saysNone(each)) ?? errors[0]
  if (records.length === 0) return { error }
  const isWhole = error === undefined || saysNone(error)
  const ttlSeconds = isWhole ? Math.min(...records.map(({ ttl }) => ttl)) : halfTtlSeconds
  return { answer: { addresses: records.map(({ address }) => toLookupAddress(address)), ttlSeconds } }
}

const toLookupAddress = (address: string): LookupAddress => ({ address, family: isIP(address) })
const byFamily = (one: LookupAddress, other: LookupAddress): number => one.family - other.family

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** The servers said that the name, or an address of this family, does not exist. */
const saysNone = (error: unknown): boolean => ['ENOTFOUND', 'ENODATA'].includes(String(codeOf(error)))
