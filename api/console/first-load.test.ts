// Bound of what a browser loads before the first page can be used.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'

type Chunk = { readonly file: string; readonly imports?: readonly string[]; readonly isEntry?: boolean }

const dist = join(import.meta.dirname, 'dist')
const limitBytes = 170 * 1_024

// A build takes seconds, on a busy machine a minute.
beforeAll(() => void execFileSync('node', [join(import.meta.dirname, 'build.ts')]), 180_000)

const readManifest = (): Record<string, Chunk> =>
  JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>

/** The chunk and everything that it imports statically. */
function filesOf(name: string, manifest: Record<string, Chunk>, found = new Set<string>()): Set<string> {
  const chunk = manifest[name]
  if (chunk === undefined || found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const imported of chunk.imports ?? []) filesOf(imported, manifest, found)
  return found
}

it('loads at most 170 KB of script for the playground', () => {
  const manifest = readManifest()
  const [entry] = Object.entries(manifest).find(([, { isEntry }]) => isEntry) ?? []
  const [page] = Object.keys(manifest).filter((name) => name.startsWith('src/routes/index.tsx'))
  if (entry === undefined || page === undefined) throw new Error('the build has no entry or no first page')
  const files = [...filesOf(entry, manifest), ...filesOf(page, manifest)]
  const bytes = new Map(files.map((file) => [file, gzipSync(readFileSync(join(dist, file))).length]))
  const total = [...bytes.values()].reduce((sum, size) => sum + size, 0)
  expect(total, [...bytes].map(([file, size]) => `${file} ${size}`).join('\n')).toBeLessThanOrEqual(limitBytes)
})

it('has no script and no style inside of the page', () => {
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  expect(page).not.toMatch(/<style|<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/)
})
