import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { afterAll, describe, expect, it } from 'vitest'
import { readBlocks, runBlock } from './page.ts'

const where = { dir: mkdtempSync(join(tmpdir(), 'matte-page-')), env: { GIVEN: 'a word' }, path: 'page.md' }
afterAll(() => rmSync(where.dir, { recursive: true }))
const block = (script: string, ...prints: string[]) => ({ section: '', line: 1, script, prints })

describe('a block of a page', () => {
  it('has the given variables, and those of earlier blocks', async () => {
    await runBlock(block('mine="$GIVEN, and another"'), where)
    expect(await runBlock(block('echo "$mine"', 'a word, and another'), where)).toBe('a word, and another\n')
  })

  it('stops at the first failing command, in a pipe too', async () => {
    await expect(runBlock(block('false\ntrue'), where)).rejects.toThrow(/page.md:1 failed/)
    await expect(runBlock(block('false | cat\ntrue'), where)).rejects.toThrow(/page.md:1 failed/)
  })

  it("prints the page's lines in order, with any column width", async () => {
    const table = block(
      'printf "NAME   READY\\nmatte-api   3/3   5s\\nother\\n"',
      'NAME READY',
      '…matte-api 3/3…',
      'other',
    )
    await runBlock(table, where)
    await expect(runBlock({ ...table, prints: ['other', 'matte-api'] }, where)).rejects.toThrow(/prints/)
    await expect(runBlock({ ...table, prints: ['matte-api 2/2'] }, where)).rejects.toThrow(/prints/)
  })
})

describe('the pages', () => {
  const testsDir = join(rootDir, 'test/cluster/operations')
  const dir = join(rootDir, 'docs/operations')
  /** Tests of pages whose commands need no cluster. */
  const elsewhere = ['test/app/people-page.faults.test.ts', 'test/servers/postgres/upgrade.test.ts']
  const pages = readdirSync(dir).filter((name) => name !== 'README.md')

  it('are run, including each section with commands', () => {
    const tests = readdirSync(testsDir)
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(testsDir, name), 'utf8'))
      .concat(elsewhere.map((file) => readFileSync(join(rootDir, file), 'utf8')))
      .join('\n')
    const sections = pages.flatMap((name) =>
      readBlocks(readFileSync(join(dir, name), 'utf8')).map(({ section }) => ({ name, section })),
    )
    expect(sections.length).toBeGreaterThan(20)
    for (const { name, section } of sections) {
      expect(tests, `${name} is run`).toMatch(new RegExp(`[pP]age\\('${name}'`))
      expect(tests, `${name}, ${section}, is run`).toContain(`('${section}')`)
    }
  })

  it('give a reason for commands that are not run', () => {
    for (const name of pages) {
      const text = readFileSync(join(dir, name), 'utf8')
      const before = text.split('\n```bash\n').slice(0, -1)
      for (const reason of before) {
        expect(reason.slice(-500), `${name}: the text before a block marked bash`).toMatch(
          /not\s+run\s+by\s+the\s+test/i,
        )
      }
    }
  })
})
