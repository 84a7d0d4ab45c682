import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reportSkip } from '@matte/test/support/report/skips.ts'
import { describe, expect, it } from 'vitest'
import { buildProgram } from '../program.ts'
import { newFolder } from '../testing/run-cli.fixtures.ts'
import { renderCompletion } from './scripts.ts'
import { readTree, walk } from './tree.ts'

const tree = readTree(buildProgram())

function has(program: string): boolean {
  const found = spawnSync(program, ['--version']).error === undefined
  if (!found) reportSkip({ matching: `completion ${program}`, reason: `${program} is not installed` })
  return found
}

/** Offers of a real bash for this line, whose last word is completed. */
function completeInBash(...words: string[]): string[] {
  const folder = newFolder()
  writeFileSync(join(folder, 'photo.jpg'), '')
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const script = `${renderCompletion('bash', tree)}
COMP_WORDS=(matte ${quoted}); COMP_CWORD=${words.length}; _matte; printf '%s\\n' "\${COMPREPLY[@]}"`
  const output = execFileSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' })
  return output.split('\n').filter((line) => line !== '')
}

describe('completion', () => {
  it('covers every command of the program', () => {
    const names = walk(tree).map(({ words }) => words.join(' '))
    expect(names).toEqual(expect.arrayContaining(['cut', 'tasks download', 'webhooks rotate-secret', 'profiles use']))
  })

  it.skipIf(!has('bash')).each([
    [['ta'], ['tasks']],
    [['tasks', 're'], ['retry']],
    [['webhooks', 'rot'], ['rotate-secret']],
    [['cut', '--form'], ['--format']],
    [['cut', '--format', 'we'], ['webp']],
    [['tasks', 'list', '--status', 'can'], ['canceled']],
    [['completion', 'f'], ['fish']],
    [['cut', 'ph'], ['photo.jpg']],
    [['cut', '--out', 'ph'], ['photo.jpg']],
    [['cut', '--format', 'webp', 'ph'], ['photo.jpg']],
    [['tasks', 'list', '--js'], ['--json']],
  ])('bash completes %j to %j', (words, offers) => {
    expect(completeInBash(...words)).toEqual(offers)
  })

  it.skipIf(!has('zsh'))('zsh accepts the script', () => {
    const script = `autoload -Uz compinit && compinit -u -D\n${renderCompletion('zsh', tree)}`
    expect(spawnSync('zsh', ['-f', '-c', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  })

  it.skipIf(!has('fish'))('fish completes subcommands', () => {
    const script = `${renderCompletion('fish', tree)}\ncomplete -C 'matte tasks re'`
    expect(execFileSync('fish', ['-c', script], { encoding: 'utf8' })).toContain('retry')
  })

  it('escapes descriptions for each shell', () => {
    const node = { name: 'matte', description: '', commands: [], choices: undefined }
    const option = { flags: ['-x', '--extra'], description: "it's [odd]: really", takesValue: true, choices: [] }
    const odd = { ...node, options: [option] }
    expect(renderCompletion('zsh', odd)).toContain(String.raw`'[it'\''s \[odd\]\: really]:value:_files'`)
    expect(renderCompletion('fish', odd)).toContain(String.raw`-d 'it'\''s [odd]: really'`)
  })
})
