// Checks the Python client: `node clients/python/check.ts` runs style, types, tests on the oldest and the newest
// Python, and the build; `fast` runs style, mypy and tests on one Python; `build` only writes the packages into dist.
// Tools live in virtual environments under .local, one for each Python and list of requirements.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

type Python = { readonly command: string; readonly version: string }

const folder = import.meta.dirname
const requirements = join(folder, 'requirements-dev.txt')
const dist = join(folder, 'dist')
const cache = join(folder, '../../.local/python-clients')

const minorMin = 10
const minors = [10, 11, 12, 13, 14]

const mode = process.argv[2] ?? 'all'
const pythons = findPythons()
const [oldest] = pythons
if (oldest === undefined) {
  // A missing interpreter is no failure of the client.
  say('skipped: there is no Python 3.10 or later with venv. Install one, or set PYTHON.')
} else {
  const bin = prepare(oldest)
  if (mode !== 'build') check(bin)
  if (mode !== 'fast') build(bin)
  const newest = pythons.at(-1)
  if (mode === 'all' && newest !== undefined && newest !== oldest) test(prepare(newest), newest.version)
}

function check(bin: string): void {
  run('ruff check', join(bin, 'ruff'), ['check', '--quiet'])
  run('ruff format', join(bin, 'ruff'), ['format', '--check', '--quiet'])
  run('mypy', join(bin, 'mypy'))
  if (mode === 'all') run('pyright', join(bin, 'pyright'), ['--pythonpath', join(bin, 'python')])
  test(bin, oldest?.version ?? '')
}

function test(bin: string, version: string): void {
  run(`pytest on ${version}`, join(bin, 'python'), ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'])
}

function build(bin: string): void {
  rmSync(dist, { recursive: true, force: true })
  // Without isolation: hatchling is pinned among the requirements.
  run('build', join(bin, 'python'), ['-m', 'build', '--no-isolation', '--outdir', dist])
  const packages = globSync('*', { cwd: dist }).map((name) => join(dist, name))
  run('twine check', join(bin, 'twine'), ['check', '--strict', ...packages])
}

/** Ends this program if the command fails. */
function run(name: string, command: string, args: readonly string[] = []): void {
  const startedMs = performance.now()
  const env = { ...process.env, PYTHONPYCACHEPREFIX: join(cache, 'bytecode'), PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' }
  const { status } = spawnSync(command, args, { cwd: folder, env, stdio: 'inherit' })
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  say(`${name}: ${status === 0 ? 'passed' : 'failed'} in ${seconds} s`)
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
  run(`environment of ${version}`, command, ['-m', 'venv', dir])
  const flags = ['-q', '--disable-pip-version-check', '--no-input']
  run('tools', join(bin, 'python'), ['-m', 'pip', 'install', ...flags, '-r', requirements])
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

function say(line: string): void {
  process.stdout.write(`[python] ${line}\n`)
}
