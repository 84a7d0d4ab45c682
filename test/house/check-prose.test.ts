import { describe, expect, it } from 'vitest'
import { findProse } from './check-prose.ts'

const lines = (path: string, text: string): number[] => findProse(path, text).map(({ line }) => line)

describe('the check of prose', () => {
  it.each([
    'Of each pod.',
    'Whoever made a task gets a mail.',
    'The queue. What it holds is lost.',
    'A task that somebody canceled.',
    'The caller is told of it.',
    'The reason stands in the log.',
    'A connection of its own.',
  ])('finds: %s', (sentence) => {
    expect(lines('a.ts', `// ${sentence}`)).toEqual([1])
  })

  it.each([
    'Returns the pods that are ready.',
    'What happens when the leader loses the Lease?',
    'Offers a batch. Often empty.',
    'The worker that holds the claim renews it.',
  ])('accepts: %s', (sentence) => {
    expect(lines('a.ts', `/** ${sentence} */`)).toEqual([])
  })

  it('reads a sentence that continues on the next line', () => {
    expect(lines('a.ts', '  /**\n   * Rejects a key that is\n   * told to expire.\n   */')).toEqual([2])
    expect(lines('a.yaml', '# Rejects a key that\n# is told to expire.')).toEqual([1])
    expect(lines('a.md', 'Rejects a key that\nis told to expire.')).toEqual([1])
  })

  it('reads comments of Helm templates', () => {
    expect(lines('a.tpl', '{{- /* Of each pod. */ -}}')).toEqual([1])
    expect(lines('a.tpl', 'a\n{{- /*\nA key.\nThe caller\nis told of it.\n*/ -}}')).toEqual([3])
  })

  it('reads test names', () => {
    expect(lines('a.test.ts', "  it('does what it is told', () => {})\n])('nobody: %s', () => {})")).toEqual([1, 2])
  })

  it('reads descriptions, help texts, errors and log messages, but not those of tests', () => {
    expect(lines('a.ts', "x({\n  description:\n    'Keys that ' +\n    'nobody uses.',\n})")).toEqual([3])
    expect(lines('a.tsx', 'const a = { help: `Of the pods.` }')).toEqual([1])
    expect(lines('a.ts', "throw new MatteError('CONFLICT', 'The key is told to expire.')")).toEqual([1])
    expect(lines('a.ts', "logger.warn({ err: of(error) }, 'whoever waits is refused')")).toEqual([1])
    expect(lines('a.test.ts', "throw new Error('Of nobody.')")).toEqual([])
  })

  it('reads comments of pages', () => {
    expect(lines('a.tsx', '/** Whoever made a task gets a mail. */')).toEqual([1])
  })

  it('reads neither code nor other strings', () => {
    expect(lines('a.ts', "const nobody = 'nobody' // counts workers")).toEqual([])
    expect(lines('a.md', '```ts\n// nobody\n```')).toEqual([])
  })

  it('finds a comment wider than 120 columns', () => {
    expect(lines('a.ts', `// ${'a'.repeat(118)}\nconst a = '${'a'.repeat(120)}'`)).toEqual([1])
  })
})
