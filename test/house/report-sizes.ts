// `make house`: the longest files and functions and the fullest folders of production code. No size fails a check.
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { parseSync } from '@swc/core'

type Size = { readonly where: string; readonly size: number }

const rows = 15
const paths = globSync('{api,controller,dispatcher,local,protos}/**/*.ts', {
  cwd: rootDir,
  exclude: ['**/node_modules/**', '**/*.{test,fixtures}.ts'],
})
const files = paths.map((path) => ({ path, text: readFileSync(join(rootDir, path)) }))
const folders = [...Map.groupBy(paths, (path) => posix.dirname(path))]

print(
  'lines of a file',
  files.map(({ path, text }) => ({ where: path, size: countLines(text) })),
)
print(
  'lines of a function',
  files.flatMap(({ path, text }) => measureFunctions(path, text)),
)
print(
  'files in a folder',
  folders.map(([where, { length }]) => ({ where, size: length })),
)

function print(title: string, sizes: Size[]): void {
  const largest = sizes.sort((a, b) => b.size - a.size).slice(0, rows)
  const lines = largest.map(({ where, size }) => `${String(size).padStart(6)}  ${where}`)
  process.stdout.write(`${title}\n${lines.join('\n')}\n\n`)
}

function countLines(text: Buffer): number {
  return text.toString().split('\n').length - 1
}

/** Functions of a file by their first line. swc counts positions in bytes, from 1. */
function measureFunctions(path: string, text: Buffer): Size[] {
  const sizes: Size[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (isFunction(node)) {
      const { start, end } = node.span
      const where = `${path}:${countLines(text.subarray(0, start - 1)) + 1}`
      sizes.push({ where, size: countLines(text.subarray(start - 1, end - 1)) + 1 })
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseSync(text.toString(), { syntax: 'typescript' }))
  return sizes
}

type FunctionNode = { readonly span: { readonly start: number; readonly end: number } }

function isFunction(node: object): node is FunctionNode {
  return 'params' in node && 'body' in node && 'span' in node
}
