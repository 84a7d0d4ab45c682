// Languages of the samples. Each is skipped where its interpreter or compiler is missing.
import { spawnSync } from 'node:child_process'
import { reportSkip } from '@matte/test/support/report/skips.ts'

export type Language = {
  readonly name: string
  readonly file: string
  readonly run: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** `pythonPath` has requests. */
export const languagesWith = (python: string, pythonPath: string): readonly Language[] => [
  { name: 'curl', file: 'cut.sh', run: ['sh', 'cut.sh'] },
  { name: 'Python', file: 'cut.py', run: [python, 'cut.py'], env: { PYTHONPATH: pythonPath } },
  { name: 'Node', file: 'cut.mjs', run: ['node', 'cut.mjs'] },
  { name: 'PHP', file: 'cut.php', run: ['php', 'cut.php'] },
  { name: 'Ruby', file: 'cut.rb', run: ['ruby', 'cut.rb'] },
  { name: 'Go', file: 'cut.go', run: ['go', 'run', 'cut.go'], env: goEnv },
  { name: 'Java', file: 'Cut.java', run: ['java', 'Cut.java'] },
]

/** No download of another toolchain; caches outside the folder of the test, which is HOME. */
export const goEnv: Readonly<Record<string, string>> = {
  GOTOOLCHAIN: 'local',
  ...Object.fromEntries(
    ['GOCACHE', 'GOMODCACHE', 'GOPROXY', 'GOFLAGS', 'GONOSUMDB'].flatMap((name) => {
      const { status, stdout } = spawnSync('go', ['env', name], { encoding: 'utf8' })
      return status === 0 && stdout.trim() !== '' ? [[name, stdout.trim()]] : []
    }),
  ),
}

const probes: Readonly<Record<string, readonly string[]>> = {
  curl: ['curl', '--version'],
  PHP: ['php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'],
  Ruby: ['ruby', '--version'],
  Go: ['go', 'version'],
  Java: ['javac', '-version'],
}

/** Whether the program of a language, or of a recipe, is on this machine. */
export function isThere(name: string): boolean {
  const [command = '', ...args] = probes[name] ?? []
  if (command === '' || spawnSync(command, args, { stdio: 'ignore' }).status === 0) return true
  reportSkip({ matching: `(${name})`, reason: `${[command, ...args].join(' ')} fails` })
  return false
}
