// `make audit`: compares the locked versions of every package with a folder of advisories on this machine, by
// osv-scanner. No network, except to build osv-scanner once.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** Go module of the scanner. Before 2.5.1 it looks for the advisories in another folder. */
const scanner = { module: 'github.com/google/osv-scanner/v2/cmd/osv-scanner', version: '2.5.1' }

const ecosystems = { 'package-lock.json': 'npm', 'requirements*.txt': 'PyPI', 'go.mod': 'Go' }

class AuditError extends Error {
  override name = 'AuditError'
}

/** Lock files below a folder, with the ecosystem of each. */
function findLockFiles(root: string): ReadonlyMap<string, string> {
  const exclude = (path: string): boolean => ['node_modules', '.git', '.local'].includes(basename(path))
  const found = Object.entries(ecosystems).flatMap(([name, ecosystem]) =>
    globSync(`**/${name}`, { cwd: root, exclude }).map((file) => [file, ecosystem] as const),
  )
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** @throws AuditError if the folder has no advisories for one of the ecosystems, because the scanner would skip it */
function checkDatabase(folder: string | undefined, ecosystemsUsed: Iterable<string>): string {
  if (!folder) {
    throw new AuditError(
      'no advisories: set MATTE_ADVISORIES, or ARGS="--advisories DIR", to a folder of them (test/README.md)',
    )
  }
  for (const ecosystem of new Set(ecosystemsUsed)) {
    const file = join(folder, 'osv-scalibr', ecosystem, 'all.zip')
    if (existsSync(file)) continue
    throw new AuditError(
      `${file} does not exist: download https://storage.googleapis.com/osv-vulnerabilities/${ecosystem}/all.zip`,
    )
  }
  return resolve(folder)
}

/** @throws AuditError if an ignored advisory has no reason or no expiry; the scanner itself requires neither */
function checkIgnored(toml: string): void {
  const [, ...entries] = toml.replace(/^\s*#.*$/gm, '').split(/^\[\[/m)
  for (const entry of entries) {
    const [id = entry.split('\n', 1)[0]] = /(?<=^id\s*=\s*")[^"]+/m.exec(entry) ?? []
    const isComplete = /^reason\s*=\s*"[^"]{10,}"/m.test(entry) && /^ignoreUntil\s*=\s*\d{4}-\d\d-\d\d/m.test(entry)
    if (entry.startsWith('IgnoredVulns]]') && isComplete) continue
    throw new AuditError(
      `osv-scanner.toml: ${id} needs [[IgnoredVulns]] with id, reason and ignoreUntil, such as 2027-01-31`,
    )
  }
}

const isRecent = (program: string): boolean => {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, ...found] = /version: (\d+)\.(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  const order = found.join('.').localeCompare(scanner.version, 'en', { numeric: true })
  return found.length > 0 && order >= 0
}

const cachedScanner = join(
  process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
  `matte/osv-scanner-${scanner.version}`,
)

/** In `$PATH`, or in the cache of an earlier run. */
export const findScanner = (): string | undefined => ['osv-scanner', cachedScanner].find(isRecent)

function buildScanner(): string {
  const folder = `${cachedScanner}.part`
  process.stderr.write(`building osv-scanner ${scanner.version} into ${cachedScanner}, which takes minutes …\n`)
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' }
  const { status, error } = spawnSync('go', ['install', '-trimpath', `${scanner.module}@v${scanner.version}`], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) {
    const reason = error === undefined ? '' : ` (${error.message})`
    throw new AuditError(
      `osv-scanner was not built${reason}: install Go 1.26 or later, or osv-scanner ${scanner.version} or later`,
    )
  }
  renameSync(join(folder, 'osv-scanner'), cachedScanner)
  rmSync(folder, { recursive: true })
  return cachedScanner
}

/** Prints the findings. Returns whether there are none. @throws AuditError if the comparison was not complete */
function audit(root: string, advisories: string | undefined): boolean {
  const files = findLockFiles(root)
  const folder = checkDatabase(advisories, files.values())
  const config = join(root, 'osv-scanner.toml')
  checkIgnored(readFileSync(config, 'utf8'))
  const locks = [...files.keys()].flatMap((file) => [
    '--lockfile',
    `${file.endsWith('.txt') ? 'requirements.txt' : basename(file)}:${join(root, file)}`,
  ])
  const options = ['scan', 'source', '--offline', '--no-resolve', '--verbosity', 'warn', '--config', config]
  const env = { ...process.env, OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY: folder }
  process.stdout.write(`comparing ${files.size} lock files with the advisories in ${folder}\n`)
  const { status } = spawnSync(findScanner() ?? buildScanner(), [...options, ...locks], { env, stdio: 'inherit' })
  // 0: no findings, 1: findings. All others: the comparison failed.
  if (status === 0 || status === 1) return status === 0
  throw new AuditError(`osv-scanner ended with ${status}, so the comparison is not complete; its output says why`)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { advisories: { type: 'string' }, root: { type: 'string', default: '.' } } })
  try {
    if (!audit(resolve(values.root), values.advisories ?? process.env.MATTE_ADVISORIES)) {
      process.stderr.write(
        'make audit: update the packages above, or list an advisory in osv-scanner.toml with reason and ignoreUntil\n',
      )
      process.exitCode = 1
    }
  } catch (error) {
    if (!(error instanceof AuditError)) throw error
    process.stderr.write(`make audit: ${error.message}\n`)
    process.exitCode = 2
  }
}
