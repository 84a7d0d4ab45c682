// Fails if a document or a comment names something that does not exist; part of `make check`. See references.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { findDangling } from './references.ts'

/** Names that are external, or not in the repository. */
const skipped = new Set(['.git', '.local', 'node_modules', 'coverage', 'dist'])

/** Files to read; others only need to exist. */
const isText = (name: string): boolean => /\.(ts|md|yaml|sh)$|^Makefile$/.test(name)

function listFiles(dir: string): [string, string][] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const file = join(dir, entry.name)
    if (skipped.has(entry.name)) return []
    if (entry.isDirectory()) return listFiles(file)
    return [[relative(rootDir, file), entry.isFile() && isText(entry.name) ? readFileSync(file, 'utf8') : '']]
  })
}

const dangling = findDangling({ files: new Map(listFiles(rootDir)) })
for (const { path, line, problem } of dangling) process.stderr.write(`${path}:${line} ${problem}\n`)
if (dangling.length > 0) process.exitCode = 1
else process.stdout.write('Every rule, link and path that is named exists.\n')
