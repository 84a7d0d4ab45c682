// `make docs`: builds the documentation into docs/site/dist. With --if-stale only when a source is newer.
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isFresh } from './freshness.ts'

const root = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(import.meta.dirname, 'dist') },
    'if-stale': { type: 'boolean', default: false },
  },
})
const outDir = resolve(values.out)

if (!values['if-stale'] || !isFresh(root, outDir)) {
  const begun = performance.now()
  // Loaded only when needed: `make up` asks each time.
  const { writeSite } = await import('./write.ts')
  const count = await writeSite(root, outDir)
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  process.stdout.write(`Built ${count} pages of documentation in ${seconds} s.\n`)
}
