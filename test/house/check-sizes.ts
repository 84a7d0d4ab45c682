// The marks of taste: what is larger is looked at twice, and does not grow.
import { posix } from 'node:path'
import type { Finding } from './finding.ts'
import type { SourceFile } from './read-sources.ts'

/** Rule → the largest size that nobody asks about, and what to do beyond it. */
const marks: Readonly<Record<string, { readonly most: number; readonly advice: string }>> = {
  'file-lines': { most: 300, advice: 'divide it by what its parts are for' },
  'function-lines': { most: 60, advice: 'take its steps out, or make its state a value' },
  parameters: { most: 3, advice: 'pass one object of options' },
  exports: { most: 5, advice: 'names that are used apart belong into files apart' },
  'folder-files': { most: 12, advice: 'give a part of it a folder' },
}
const columnsMax = 120

export function checkSizes(files: readonly SourceFile[], tables: readonly string[]): Finding[] {
  const isTable = (path: string): boolean => tables.some((one) => path === one || path.startsWith(`${one}/`))
  const others = files.filter(({ path }) => !isTable(path))
  return [
    ...others.flatMap(({ path, lines }) => beyond('file-lines', path, lines.length)),
    ...others.flatMap(({ path, exports }) => beyond('exports', path, exports.length)),
    ...files.flatMap(checkFunctions),
    ...checkFolders(others.map(({ path }) => path)),
    ...checkColumns(files),
  ]
}

function checkFunctions({ path, functions }: SourceFile): Finding[] {
  const seen = new Map<string, number>()
  return functions.flatMap(({ name, lines, parameters }) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    const where = `${path}#${name}${count > 1 ? ` (${count})` : ''}`
    return [...beyond('function-lines', where, lines), ...beyond('parameters', where, parameters)]
  })
}

/** Source files only: tests lie beside what they test, and a folder of tests is as long as what it tests. */
function checkFolders(paths: readonly string[]): Finding[] {
  const sources = paths.filter((path) => !/\.(test|fixtures)\.ts$/.test(path)).map((path) => posix.dirname(path))
  return [...Map.groupBy(sources, (folder) => folder)].flatMap(([folder, { length }]) =>
    beyond('folder-files', folder, length),
  )
}

/** Counts the lines that are too long, in characters. The formatter leaves comments and strings alone. */
export function checkColumns(files: readonly Pick<SourceFile, 'path' | 'lines'>[]): Finding[] {
  return files.flatMap(({ path, lines }) => {
    const long = lines.flatMap((line, index) => ([...line].length > columnsMax ? [index + 1] : []))
    const advice = `longer than ${columnsMax} columns: line ${long.join(', ')}`
    return long.length > 0 ? [{ rule: 'columns', where: path, size: long.length, advice }] : []
  })
}

function beyond(rule: string, where: string, size: number): Finding[] {
  const { most = 0, advice = '' } = marks[rule] ?? {}
  return size > most ? [{ rule, where, size, advice }] : []
}
