// What the two files say that a C library reads for names: addresses of this machine's own, and how short names are
// completed. c-ares itself reads the name servers of resolv.conf, and completes nothing.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

type SearchRules = {
  readonly domains: readonly string[]
  /** A name with fewer dots is tried with the domains first. */
  readonly ndots: number
}

export type SystemFiles = {
  readonly hosts: string
  readonly resolvConf: string
}

/** Read where they are used, so that a change is seen; a missing file is empty. */
export const readSystemFiles = (): SystemFiles => ({
  hosts: readText('/etc/hosts'),
  resolvConf: readText('/etc/resolv.conf'),
})

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The addresses of a name in a hosts file, in its order. */
export function addressesIn(hosts: string, name: string): string[] {
  return wordsOf(hosts).flatMap(([address = '', ...names]) =>
    isIP(address) !== 0 && names.some((each) => each.toLowerCase() === name) ? [address] : [],
  )
}

/** As resolv.conf(5): the last `search` or `domain` counts. */
export function searchRulesOf(resolvConf: string): SearchRules {
  let domains: readonly string[] = []
  let ndots = 1
  for (const [keyword, ...values] of wordsOf(resolvConf)) {
    if (keyword === 'search' || keyword === 'domain') domains = values
    if (keyword !== 'options') continue
    for (const option of values) ndots = Number(/^ndots:(\d+)$/.exec(option)?.[1] ?? ndots)
  }
  return { domains: domains.map((domain) => domain.replace(/\.$/, '')).filter(Boolean), ndots: Math.min(ndots, 15) }
}

/** The names to ask for, in this order, until one has an address. A dot at the end forbids any completion. */
export function candidatesOf(name: string, { domains, ndots }: SearchRules): string[] {
  if (name.endsWith('.')) return [name]
  const completed = domains.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots >= ndots ? [name, ...completed] : [...completed, name]
}

const wordsOf = (text: string): string[][] =>
  text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .split(/\s+/)
      .filter(Boolean),
  )
