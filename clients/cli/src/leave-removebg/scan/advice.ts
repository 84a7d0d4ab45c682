// Advice for uses that a person decides.
export type UseKind = 'endpoint' | 'host' | 'package' | 'import' | 'program' | 'variable' | 'link'

type Where = { readonly name: string; readonly isCi: boolean }

const page = 'Hard-coded hosts in docs/leaving-remove-bg.md'

/** Clients whose way was tried; others dial the host themselves too, until their documents say otherwise. */
const byPackage: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/^remove\.bg$/, 'npm client, its host is fixed: patch-package, or matte door'],
  [/^removebg$/i, 'PyPI client: set removebg.removebg.API_ENDPOINT, or matte door'],
  [/^github\.com\/remove-bg\/go/, 'official Go packages: give Client.HTTPClient a transport, or matte door'],
]

export function adviceFor(kind: Exclude<UseKind, 'endpoint'>, found: string, { name, isCi }: Where): string {
  switch (kind) {
    case 'host':
      return 'by hand: the host of your Matte, which must have https where no scheme is written'
    case 'link':
      return 'by hand: the site closes on 1 December 2026'
    case 'program':
      return 'official command line, its host is fixed: matte cut, or matte door -- removebg'
    case 'package':
    case 'import':
      return byPackage.find(([pattern]) => pattern.test(found))?.[1] ?? `see whether it takes a URL; otherwise ${page}`
    case 'variable':
      return adviceForVariable(found, name, isCi)
  }
}

function adviceForVariable(found: string, name: string, isCi: boolean): string {
  if (/URL|ENDPOINT|HOST|BASE/i.test(found)) return 'by hand: if it holds the host, the URL of your Matte'
  if (isCi) return 'by hand: store a key of Matte as this secret of the CI'
  if (name.startsWith('.env')) return 'by hand: put a key of Matte here'
  return 'keep the name; give it a key of Matte'
}
