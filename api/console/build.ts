// Builds dist/, unless it is newer than the sources: `make console`, `make up` and the image run it.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'vite'

const here = import.meta.dirname
const dist = join(here, 'dist')
/** Swapped with `dist` when it is complete, so a process reads one build or the other. */
const next = join(here, 'dist.next')
const former = join(here, 'dist.former')
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
  for (const path of globSync('assets/*.{js,css,svg}', { cwd: next })) {
    const body = readFileSync(join(next, path))
    if (body.length < smallestBytes) continue
    writeFileSync(join(next, `${path}.br`), brotliCompressSync(body))
    writeFileSync(join(next, `${path}.gz`), gzipSync(body, { level: 9 }))
  }
}

const stamp = readStamp()
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  // Vite would keep the value of a caller, such as a test, and build React for development.
  process.env.NODE_ENV = 'production'
  const options = { outDir: next, emptyOutDir: true }
  await build({ configFile: join(here, 'vite.config.ts'), logLevel: 'warn', build: options })
  writeVariants()
  writeFileSync(join(next, '.stamp'), stamp)
  rmSync(former, { recursive: true, force: true })
  if (existsSync(dist)) renameSync(dist, former)
  renameSync(next, dist)
  rmSync(former, { recursive: true, force: true })
  process.stdout.write('built the console\n')
}
