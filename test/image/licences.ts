// Which licences may be in the image, and why. One that is not listed fails `make sbom` and the image's test.

export type Component = {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly { readonly expression: string }[]
}

type Licence = { readonly reason: string; readonly ids: readonly string[] }

/** May be linked into our programs, which are under Apache-2.0. */
const linked: readonly Licence[] = [
  {
    reason: 'asks for its notice, and for nothing else',
    ids: ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0'],
  },
  { reason: 'asks for nothing', ids: ['0BSD', 'MIT-0', 'Unlicense'] },
  { reason: 'the fonts of invoices: files of their own, unchanged, with their licence beside them', ids: ['OFL-1.1'] },
  { reason: "permissive: Python's, of a parser of arguments", ids: ['PSF-2.0'] },
  {
    reason: 'libvips of sharp: a shared library in a file of its own, which anybody may replace by another',
    ids: ['LGPL-3.0-or-later'],
  },
]

/** Debian's own programs and libraries, unchanged and beside ours; Debian has their sources. */
const beside: readonly Licence[] = [
  ...linked,
  {
    reason: 'programs of their own (shell, coreutils, apt), which ours only start, if at all',
    ids: ['GPL-1.0-or-later', 'GPL-2.0-only', 'GPL-2.0-or-later', 'GPL-3.0-or-later', 'Artistic-1.0-Perl', 'Sleepycat'],
  },
  {
    reason: 'libraries that are linked dynamically, glibc first of all',
    ids: ['LGPL-2.0-only', 'LGPL-2.1-only', 'LGPL-2.1-or-later'],
  },
  {
    reason: 'libgcc and libstdc++: the exception is for programs like Node',
    ids: ['GPL-3.0-or-later WITH GCC-exception-3.1'],
  },
  { reason: 'permissive', ids: ['Zlib', 'X11', 'bzip2-1.0.6', 'LicenseRef-public-domain'] },
  { reason: "Mozilla's list of certificates, unchanged", ids: ['MPL-2.0'] },
]

const allowedFor = ({ purl }: Pick<Component, 'purl'>): ReadonlySet<string> =>
  new Set((purl.startsWith('pkg:deb/') ? beside : linked).flatMap(({ ids }) => ids))

/** Of `A OR B` one is enough, of `A AND B` all are needed; deeper expressions are not read and so not allowed. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const plain = expression.replaceAll(/[()]/g, '')
  if (plain.includes(' OR ') && plain.includes(' AND ')) return false
  if (plain.includes(' OR ')) return plain.split(' OR ').some((id) => allowed.has(id))
  return plain.split(' AND ').every((id) => allowed.has(id))
}

export const licenceOf = ({ licenses }: Component): string => licenses.map(({ expression }) => expression).join(' AND ')

/** Each with its licence, as a line for a person. */
export const findUnlisted = (components: readonly Component[]): readonly string[] =>
  components
    .filter((component) => !isAllowed(licenceOf(component), allowedFor(component)))
    .map((component) => `${component.purl}: ${licenceOf(component)}`)
