// Files of a built static site, listed once at start: a request can only name a listed file. Contents are streamed.
import { createHash } from 'node:crypto'
import { createReadStream, type ReadStream, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

export type SiteFile = {
  readonly contentType: string
  /** Its name contains a hash of its content. */
  readonly isImmutable: boolean
  /** Identity first, then the compressed variants that the build made. */
  readonly variants: ReadonlyMap<Encoding, Variant>
}

/** Files by their URL path without the base, such as `errors/NOT_FOUND`. */
export type SiteFiles = ReadonlyMap<string, SiteFile>

export type Encoding = 'identity' | 'br' | 'gzip'

type Variant = { readonly etag: string; readonly sizeBytes: number; readonly open: () => ReadStream }

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
}

const suffixes = { identity: '', br: '.br', gzip: '.gz' } as const satisfies Record<Encoding, string>

/** Empty when the site has not been built. */
export function readSiteFiles(dir: string): SiteFiles {
  const names = new Set(listFiles(dir))
  const files = [...names].filter((name) => extname(name) in contentTypes)
  return new Map(files.map((name) => [pathOf(name), readFile(dir, name, names)]))
}

function listFiles(dir: string): string[] {
  try {
    const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    return files.map((file) => relative(dir, file).split(sep).join('/'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Pages have no extension: `errors/NOT_FOUND.html` is `errors/NOT_FOUND`, and `index.html` is the base itself. */
const pathOf = (name: string): string => name.replace(/\.html$/, '').replace(/^index$/, '')

function readFile(dir: string, name: string, names: ReadonlySet<string>): SiteFile {
  const variants = new Map<Encoding, Variant>()
  for (const encoding of ['identity', 'br', 'gzip'] as const) {
    const file = `${name}${suffixes[encoding]}`
    if (names.has(file)) variants.set(encoding, readVariant(join(dir, file)))
  }
  return {
    contentType: contentTypes[extname(name)] ?? 'application/octet-stream',
    // Files below assets/static keep their names.
    isImmutable: /^assets\/(?!static\/)/.test(name),
    variants,
  }
}

/** The ETag is of the content: the times of files in an image say nothing. */
function readVariant(path: string): Variant {
  const content = readFileSync(path)
  return { etag: etagOf(content), sizeBytes: content.byteLength, open: () => createReadStream(path) }
}

export const etagOf = (content: Buffer | string): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
