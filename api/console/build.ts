// Builds dist/, unless it is newer than the sources: `make console`, `make up` and the image run it.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'vite'

const here = import.meta.dirname
const dist = join(here, 'dist')
const stampFile = join(dist, '.stamp')

/** Hash of everything that the build reads. */
function readStamp(): string {
  const own = globSync(['src/**/*.*', 'public/**/*.*', '*.{ts,html,json}'], { cwd: here }).map((path) =>
    join(here, path),
  )
  const client = globSync('../../clients/typescript/src/**/*.ts', { cwd: here }).map((path) => join(here, path))
  const packages = join(here, '../../package-lock.json')
  const files = [...own, ...client, ...(existsSync(packages) ? [packages] : [])].sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file.slice(here.length)).update(readFileSync(file))
  return hash.digest('hex')
}

/** Smaller files fit into one packet as they are. */
const smallestBytes = 1_400

/** Images are compressed already. */
function writeVariants(): void {
  for (const path of globSync('assets/*.{js,css,svg}', { cwd: dist })) {
    const body = readFileSync(join(dist, path))
    if (body.length < smallestBytes) continue
    writeFileSync(join(dist, `${path}.br`), brotliCompressSync(body))
    writeFileSync(join(dist, `${path}.gz`), gzipSync(body, { level: 9 }))
  }
}

const stamp = readStamp()
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  // Vite would keep the value of a caller, such as a test, and build React for development.
  process.env.NODE_ENV = 'production'
  await build({ configFile: join(here, 'vite.config.ts'), logLevel: 'warn' })
  writeVariants()
  writeFileSync(stampFile, stamp)
  process.stdout.write('built the console\n')
}
