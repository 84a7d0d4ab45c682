// Last step of `make chart`: packages the chart into dist/ (or the given folder) with its licence, changes and list of
// images, and prints the command that pushes it to a registry.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { writeReleaseChart } from './release.ts'

const destination = process.argv[2] ?? join(rootDir, 'dist')
const work = mkdtempSync(join(tmpdir(), 'matte-chart-'))
try {
  const chart = join(work, 'matte')
  cpSync(join(rootDir, 'charts/matte'), chart, { recursive: true })
  for (const file of ['LICENSE', 'CHANGELOG.md']) copyFileSync(join(rootDir, file), join(chart, file))
  writeFileSync(join(chart, 'Chart.yaml'), writeReleaseChart())
  mkdirSync(destination, { recursive: true })
  const said = execFileSync('helm', ['package', chart, '--destination', destination], { encoding: 'utf8' })
  const file = /saved it to: (.*)/.exec(said)?.[1] ?? destination
  process.stdout.write(`${file}\nTo a registry: helm push ${file} oci://REGISTRY/charts\n`)
} catch (error) {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
  process.stderr.write(isMissing ? 'helm is not in $PATH, so the chart is not packaged\n' : `${String(error)}\n`)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true })
}
