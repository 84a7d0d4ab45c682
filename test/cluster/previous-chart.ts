// The previous chart, from the git history: the last commit before `version` in Chart.yaml was raised.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { parse } from 'yaml'

const file = 'charts/matte/Chart.yaml'
const versionIn = (text: string): string => String((parse(text) as { version?: unknown }).version)

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', rootDir, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trimEnd()
  } catch {
    return undefined
  }
}

type Previous = { readonly commit: string; readonly version: string }

/** Undefined without a history, or if `version` was never raised. */
export function findPreviousChart(): Previous | undefined {
  if (!existsSync(join(rootDir, file))) return undefined
  const now = versionIn(readFileSync(join(rootDir, file), 'utf8'))
  const commits = git('log', '--format=%H', '-G^version:', '--', file)?.split('\n') ?? []
  const candidates = ['HEAD', ...commits.map((commit) => `${commit}^`)]
  for (const commit of candidates) {
    const text = git('show', `${commit}:${file}`)
    if (text !== undefined && versionIn(text) !== now) return { commit, version: versionIn(text) }
  }
  return undefined
}

/** Writes that chart below `dir`; returns its folder. */
export function checkOutChart({ commit }: Previous, dir: string): string {
  mkdirSync(dir, { recursive: true })
  const archive = execFileSync('git', ['-C', rootDir, 'archive', commit, 'charts/matte'], {
    maxBuffer: 64 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', dir], { input: archive })
  return join(dir, 'charts/matte')
}
