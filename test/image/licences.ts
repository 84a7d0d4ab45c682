// Licences that the image may contain. Others fail `make sbom` and the image's test.

export type Component = {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly { readonly expression: string }[]
}

type Licence = { readonly reason: string; readonly ids: readonly string[] }

/** May be linked into Apache-2.0 programs. */
const linked: readonly Licence[] = [
  {
    reason: 'requires only its notice',
    ids: ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0'],
  },
  { reason: 'no conditions', ids: ['0BSD', 'MIT-0', 'Unlicense'] },
  { reason: 'fonts of invoices: separate, unchanged files with their licence', ids: ['OFL-1.1'] },
  { reason: "permissive: Python's licence, for an argument parser", ids: ['PSF-2.0'] },
  {
    reason: 'libvips of sharp: a separate shared library that users can replace',
    ids: ['LGPL-3.0-or-later'],
  },
]

/** Debian's unchanged programs and libraries; Debian has their sources. */
const beside: readonly Licence[] = [
  ...linked,
  {
    reason: 'separate programs (shell, coreutils, apt) that ours at most start',
    ids: ['GPL-1.0-or-later', 'GPL-2.0-only', 'GPL-2.0-or-later', 'GPL-3.0-or-later', 'Artistic-1.0-Perl', 'Sleepycat'],
  },
  {
    reason: 'dynamically linked libraries, such as glibc',
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

/** `A OR B` needs one, `A AND B` both; nested expressions are not allowed. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const plain = expression.replaceAll(/[()]/g, '')
  if (plain.includes(' OR ') && plain.includes(' AND ')) return false
  if (plain.includes(' OR ')) return plain.split(' OR ').some((id) => allowed.has(id))
  return plain.split(' AND ').every((id) => allowed.has(id))
}

export const licenceOf = ({ licenses }: Component): string => licenses.map(({ expression }) => expression).join(' AND ')

/** One line per component and licence. */
export const findUnlisted = (components: readonly Component[]): readonly string[] =>
  components
    .filter((component) => !isAllowed(licenceOf(component), allowedFor(component)))
    .map((component) => `${component.purl}: ${licenceOf(component)}`)
