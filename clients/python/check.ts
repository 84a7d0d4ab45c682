// Checks the Python client: `node clients/python/check.ts` runs tests on the oldest and the newest Python, types and
// the build; `fast` runs tests and mypy on one Python; `build` only writes the packages into clients/python/dist.
// Tools live in a virtual environment under .local, which is made once for each Python and list of requirements.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

type Python = { readonly command: string; readonly version: string }
type Step = { readonly name: string; readonly command: string; readonly args: readonly string[] }

const folder = import.meta.dirname
const requirements = join(folder, 'requirements-dev.txt')
const dist = join(folder, 'dist')
const cache = join(folder, '../../.local/python-clients')

const minorMin = 10
const minors = [10, 11, 12, 13, 14]

const mode = process.argv[2]
const [oldest, ...others] = findPythons()
if (oldest === undefined) {
  // A missing interpreter is no failure of the client.
  console.log('[python] skipped: there is no Python 3.10 or later with venv. Install one, or set PYTHON.')
} else {
  check(oldest, others.at(-1))
}

function check(oldest: Python, newest: Python | undefined): void {
  const bin = prepare(oldest)
  for (const step of stepsOf(bin)) run(step)
  if (mode !== undefined || newest === undefined) return
  run({ ...pytest(prepare(newest)), name: `pytest ${newest.version}` })
}

function stepsOf(bin: string): Step[] {
  const tool = (name: string, ...args: string[]): Step => ({ name, command: join(bin, name), args })
  if (mode === 'build') return [build(bin)]
  const fast = [pytest(bin), tool('mypy')]
  if (mode === 'fast') return fast
  return [...fast, tool('pyright', '--pythonpath', join(bin, 'python')), build(bin), tool('twine', 'check', '--strict')]
}

function pytest(bin: string): Step {
  return { name: 'pytest', command: join(bin, 'python'), args: ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'] }
}

/** Without isolation: hatchling is pinned among the requirements. */
function build(bin: string): Step {
  const args = ['-m', 'build', '--no-isolation', '--outdir', dist]
  return { name: 'build', command: join(bin, 'python'), args }
}

function run({ name, command, args }: Step): void {
  if (name === 'build') rmSync(dist, { recursive: true, force: true })
  const files = name === 'twine' ? globSync('*', { cwd: dist }).map((file) => join(dist, file)) : []
  const startedMs = performance.now()
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYRIGHT_PYTHON_CACHE_DIR: join(cache, 'pyright') }
  const { status } = spawnSync(command, [...args, ...files], { cwd: folder, env, stdio: 'inherit' })
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`[python] ${name}: ${status === 0 ? 'passed' : 'failed'} in ${seconds} s`)
  if (status !== 0) process.exit(1)
}

/** Returns the folder of the environment's programs. */
function prepare({ command, version }: Python): string {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8)
  const dir = join(cache, `${version}-${digest}`)
  const bin = join(dir, 'bin')
  // Written last. An environment cannot be moved once built, so it is not built elsewhere and renamed.
  const marker = join(dir, 'complete')
  if (existsSync(marker)) return bin
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  run({ name: `environment for Python ${version}`, command, args: ['-m', 'venv', dir] })
  const pip = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '--no-input', '-r', requirements]
  run({ name: 'tools', command: join(bin, 'python'), args: pip })
  writeFileSync(marker, '')
  return bin
}

/** Interpreters with venv, oldest first: `PYTHON`, else those in the path and those of pyenv. */
function findPythons(): Python[] {
  const { PYTHON, PYENV_ROOT = join(homedir(), '.pyenv') } = process.env
  const managed = globSync('versions/*/bin/python3', { cwd: PYENV_ROOT }).map((path) => join(PYENV_ROOT, path))
  const commands = PYTHON ? [PYTHON] : ['python3', ...minors.map((minor) => `python3.${minor}`), ...managed]
  const found = new Map<string, Python>()
  for (const command of commands) {
    const python = askVersion(command)
    if (python && !found.has(python.version)) found.set(python.version, python)
  }
  return [...found.values()].sort((a, b) => minorOf(a.version) - minorOf(b.version))
}

function askVersion(command: string): Python | undefined {
  const script = 'import venv, ensurepip, sys; print("%d.%d" % sys.version_info[:2])'
  const { status, stdout } = spawnSync(command, ['-c', script], { encoding: 'utf8' })
  const version = stdout?.trim() ?? ''
  return status === 0 && version.startsWith('3.') && minorOf(version) >= minorMin ? { command, version } : undefined
}

function minorOf(version: string): number {
  return Number(version.split('.')[1])
}
