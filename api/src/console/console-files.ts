// Files of the console, read at start: at most a few megabytes, with the variants that the build has compressed. A
// request can name only these, so no path leads out of the folder.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export type ConsoleFile = {
  readonly type: string
  readonly etag: string
  readonly body: Buffer
  /** Best first. */
  readonly variants: readonly { readonly encoding: 'br' | 'gzip'; readonly body: Buffer }[]
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
}

const encodings = [
  ['.br', 'br'],
  ['.gz', 'gzip'],
] as const

/** By their path below the folder, such as `assets/index-1a2b.js`. Empty if the console has not been built. */
export function readConsoleFiles(dir: string): ConsoleFiles {
  const paths = globSync('**/*', { cwd: dir }).filter((path) => extname(path) in types)
  return new Map(paths.map((path) => [path, readFile(join(dir, path))]))
}

function readFile(file: string): ConsoleFile {
  const body = readFileSync(file)
  const variants = encodings.flatMap(([suffix, encoding]) => {
    const [path] = globSync(`${file}${suffix}`)
    return path === undefined ? [] : [{ encoding, body: readFileSync(path) }]
  })
  return { type: types[extname(file)] ?? '', etag: etagOf(body), body, variants }
}

export const etagOf = (body: Buffer | string): string =>
  `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
