import { describe, expect, it } from 'vitest'
import { findDangling } from './references.ts'

const sound: Readonly<Record<string, string>> = {
  'DECISIONS.md': '# Decisions\n\n**A1. The row is the truth.** It is.\n',
  'docs/contract.md': '# The contract\n\n**D1** Every answer has an envelope, see A1.\n',
  'docs/guide.md':
    '# Guide\n\n## Two `words`, here\n\n[one](contract.md), [two](#two-words-here), [web](https://a.b/c)\n',
  'api/src/app.ts': '// Keeps D1, see `docs/guide.md`.\n',
  'api/src/routes/tasks.ts': '',
  'test/a.test.ts': "it.each([\n  [1],\n])(\n  'ends %s', run)\nit(\"keeps a caller's order\", run)",
}

const problemsOf = (changes: Readonly<Record<string, string>>): string[] =>
  findDangling({ files: new Map(Object.entries({ ...sound, ...changes })) }).map(
    ({ path, line, problem }) => `${path}:${line} ${problem}`,
  )

describe('findDangling', () => {
  it('finds nothing where every reference leads somewhere', () => {
    expect(problemsOf({})).toEqual([])
  })

  it.each([
    ['a rule of the contract', 'api/src/x.ts', '\n// Kept by D2.', 'api/src/x.ts:2 D2 is not in docs/contract.md'],
    ['a decision', 'Makefile', 'x: # A3', 'Makefile:1 A3 is not in DECISIONS.md'],
    ['a rule in the name of a test', 'x.test.ts', "it('keeps D3')", 'x.test.ts:1 D3 is not in docs/contract.md'],
    ['a linked file', 'docs/x.md', '[a](gone.md)', 'docs/x.md:1 the link gone.md leads to no file'],
    ['a heading', 'x.md', '[a](docs/guide.md#x)', 'x.md:1 the link docs/guide.md#x leads to no heading'],
    ['a heading of the same file', 'x.md', '[a](#x)', 'x.md:1 the link #x leads to no heading'],
    ['a path in a document', 'x.md', 'See `src/gone.ts`.', 'x.md:1 the path src/gone.ts does not exist'],
    ['a path in a comment', 'x.yaml', 'a: 1 # `docs/gone.md`', 'x.yaml:1 the path docs/gone.md does not exist'],
    ['a folder', 'x.ts', '/** In `api/gone/`. */', 'x.ts:1 the path api/gone/ does not exist'],
    ['a path in a command', 'x.md', '`make e2e ARGS=api/gone.ts`', 'x.md:1 the path api/gone.ts does not exist'],
    ['a path without quotes', 'x.ts', '// See api/gone.ts.', 'x.ts:1 the path api/gone.ts does not exist'],
    ['a test', 'x.md', '`test/a.test.ts` "ends"', 'x.md:1 test/a.test.ts has no test "ends"'],
    ['a path with no ending', 'x.md', '`api/src/gone`', 'x.md:1 the path api/src/gone does not exist'],
  ])('finds %s that is missing', (_, path, text, problem) => {
    expect(problemsOf({ [path]: text })).toEqual([problem])
  })

  it('takes a path from the root, from beside the file, and by its end', () => {
    const text = '`api/src/routes/tasks.ts` `routes/tasks.ts` `src/routes/`'
    expect(problemsOf({ 'api/src/notes.md': text })).toEqual([])
  })

  it('finds a test by its whole title', () => {
    expect(problemsOf({ 'x.md': '`test/a.test.ts` "ends %s", `test/a.test.ts` "keeps a caller\'s order"' })).toEqual([])
  })

  it('leaves alone what only looks like a reference', () => {
    const text =
      '`/v1/tasks` `s3://bucket/folder/` `.local/parts/` `<pool>/x.ts` %A9 sha-D9 GB/D9\n\n```\n[a](gone.md)\n```'
    expect(problemsOf({ 'x.md': text })).toEqual([])
  })

  it('reads comments of code alone for paths', () => {
    expect(problemsOf({ 'x.ts': 'const path = `api/gone.ts`' })).toEqual([])
  })
})
