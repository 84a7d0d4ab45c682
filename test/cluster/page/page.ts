// Runs the commands of a page in docs/operations/ as written. bash runs a block marked `sh` and stops at the first
// failing command. A block marked `text` after it lists lines of its output in order, with … for anything. Blocks
// marked `bash` are not run. Variables carry over to later blocks.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { expect } from 'vitest'
import { run } from '../../chart/helm.ts'

type Block = { readonly section: string; readonly line: number; readonly script: string; readonly prints: string[] }

/** Runs the blocks of a section, or of the text before the first one; returns their output. */
export type RunSection = (section: string) => Promise<string>

/** `dir` contains the chart; `env` has the page's variables. */
export function openPage(name: string, { dir, env }: { dir: string; env: Record<string, string> }): RunSection {
  const path = join('docs/operations', name)
  const blocks = readBlocks(readFileSync(join(rootDir, path), 'utf8'))
  return async (section) => {
    const own = blocks.filter((block) => block.section === section)
    if (own.length === 0) throw new Error(`${path} has no commands in ${JSON.stringify(section)}`)
    let printed = ''
    for (const block of own) printed += await runBlock(block, { dir, env, path })
    return printed
  }
}

export function readBlocks(page: string): Block[] {
  const blocks: Block[] = []
  let section = ''
  let fence: { readonly kind: string; readonly line: number; readonly lines: string[] } | undefined
  for (const [index, line] of page.split('\n').entries()) {
    if (fence === undefined) {
      if (/^#{2,} /.test(line)) section = line.replace(/^#+ /, '')
      if (line.startsWith('```')) fence = { kind: line.slice(3), line: index + 1, lines: [] }
    } else if (line === '```') {
      if (fence.kind === 'sh') blocks.push({ section, line: fence.line, script: fence.lines.join('\n'), prints: [] })
      if (fence.kind === 'text') blocks.at(-1)?.prints.push(...fence.lines)
      fence = undefined
    } else {
      fence.lines.push(line)
    }
  }
  return blocks
}

/** Runs one block; returns its output. @throws Error if a command fails, or the output differs from the page */
export async function runBlock(
  { line, script, prints }: Block,
  where: Parameters<typeof openPage>[1] & { path: string },
) {
  const { dir, env, path } = where
  const state = join(dir, '.variables')
  const begun = performance.now()
  const given = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`)
  const text = ['set -euo pipefail -o allexport', `cd '${dir}'`, `[ ! -e ${state} ] || . ${state}`, ...given, script]
  const { stdout, stderr, failed } = await run('bash', ['-c', [...text, `export -p > ${state}`].join('\n')])
  if (failed) throw new Error(`${path}:${line} failed:\n${script}\n${stdout}${stderr}`)
  expect(stdout, `${path}:${line} prints`).toMatch(toPattern(prints))
  process.stdout.write(`${path}:${line} ${((performance.now() - begun) / 1_000).toFixed(1)} s\n`)
  return stdout
}

/** Column widths vary, so any run of blanks is equal. */
const toPattern = (prints: readonly string[]): RegExp =>
  new RegExp(prints.map((line) => line.split('…').map(escapeText).join('.*')).join('[^]*\\n.*'))

const escapeText = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/ +/g, '\\s+')
