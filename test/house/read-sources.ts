// What the checks know of each TypeScript file: its lines, imports, exports and functions, as the compiler's own parser
// sees them. Nothing is resolved or type-checked here.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Node } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { API } from 'typescript/unstable/sync'
import { listFiles } from './list-files.ts'
import { functionName, isTestBlock, modifiersOf } from './syntax.ts'

export type Import = {
  /** As written: a relative path or a package's. */
  readonly specifier: string
  /** Names on the exporting side; `all` where the syntax does not say which are used. */
  readonly names: readonly string[] | 'all'
}

export type FunctionShape = {
  /** With the functions around it: `startLoop > pass`. */
  readonly name: string
  readonly lines: number
  /** 0 for a callback, whose signature is given by the function that takes it. */
  readonly parameters: number
}

export type SourceFile = {
  /** From the repository's root. */
  readonly path: string
  readonly lines: readonly string[]
  readonly imports: readonly Import[]
  readonly exports: readonly string[]
  readonly functions: readonly FunctionShape[]
  /** How often each identifier occurs. */
  readonly mentions: ReadonlyMap<string, number>
}

/** Every TypeScript file of the repository. */
export function readSources(rootDir: string): SourceFile[] {
  const paths = listFiles(rootDir, '*.ts')
  return parseSources(Object.fromEntries(paths.map((path) => [path, readFileSync(join(rootDir, path), 'utf8')])))
}

/** Parses texts by their path. The compiler gets them as a file system of their own, so that it loads nothing else. */
export function parseSources(texts: Readonly<Record<string, string>>): SourceFile[] {
  const root = '/sources'
  const config = { compilerOptions: { noLib: true, noResolve: true, types: [] }, include: ['**/*.ts'] }
  const files = Object.fromEntries(Object.entries(texts).map(([path, text]) => [`${root}/${path}`, text]))
  const fs = createVirtualFileSystem({ ...files, [`${root}/tsconfig.json`]: JSON.stringify(config) })
  const api = new API({ cwd: root, fs })
  try {
    using snapshot = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] })
    const project = snapshot.getProjects()[0]
    return Object.entries(texts).map(([path, text]) => {
      const parsed = project?.program.getSourceFile(`${root}/${path}`)
      if (parsed === undefined) throw new Error(`${path} cannot be parsed`)
      return { path, lines: text.replace(/\n$/, '').split('\n'), ...readTree(parsed, text) }
    })
  } finally {
    api.close()
  }
}

function readTree(file: Node, text: string): Omit<SourceFile, 'path' | 'lines'> {
  const imports: Import[] = []
  const exports: string[] = []
  const functions: FunctionShape[] = []
  const mentions = new Map<string, number>()
  const visit = (node: Node): void => {
    if (is.isIdentifier(node)) mentions.set(node.text, (mentions.get(node.text) ?? 0) + 1)
    imports.push(...importsOf(node))
    exports.push(...exportsOf(node))
    if (is.isFunctionLikeDeclaration(node) && !isTestBlock(node)) functions.push(shapeOf(node, text))
    node.forEachChild(visit)
  }
  visit(file)
  return { imports, exports, functions, mentions }
}

/** Imports of every syntax: declarations, types, `import()`, and a file named by its URL (a worker's, a program's). */
function importsOf(node: Node): Import[] {
  if (is.isImportDeclaration(node)) {
    const specifier = textOf(node.moduleSpecifier)
    const { name, namedBindings } = node.importClause ?? {}
    if (namedBindings && is.isNamespaceImport(namedBindings)) return [{ specifier, names: 'all' }]
    const named = namedBindings && is.isNamedImports(namedBindings) ? namedBindings.elements : []
    const names = named.map((one) => (one.propertyName ?? one.name).text)
    return [{ specifier, names: name ? ['default', ...names] : names }]
  }
  if (is.isExportDeclaration(node) && node.moduleSpecifier) {
    const { exportClause } = node
    const named = exportClause && is.isNamedExports(exportClause) ? exportClause.elements : undefined
    const names = named?.map((one) => (one.propertyName ?? one.name).text) ?? 'all'
    return [{ specifier: textOf(node.moduleSpecifier), names }]
  }
  if (is.isImportTypeNode(node)) {
    return is.isLiteralTypeNode(node.argument) ? [{ specifier: textOf(node.argument.literal), names: 'all' }] : []
  }
  return is.isCallExpression(node) || is.isNewExpression(node) ? namedFile(node.expression, node.arguments?.[0]) : []
}

function namedFile(callee: Node, argument: Node | undefined): Import[] {
  if (argument === undefined || !is.isStringLiteral(argument)) return []
  const called = callee.getText()
  const isFile = called === 'URL' && /^\.\.?\/.*\.ts$/.test(argument.text)
  const isImport = called === 'import' || called === 'import.meta.resolve'
  return isFile || isImport ? [{ specifier: argument.text, names: 'all' }] : []
}

function exportsOf(node: Node): string[] {
  if (is.isExportAssignment(node)) return ['default']
  if (is.isExportDeclaration(node)) {
    return node.exportClause && is.isNamedExports(node.exportClause)
      ? node.exportClause.elements.map((one) => one.name.text)
      : []
  }
  const modifiers = modifiersOf(node)
  if (!modifiers.includes('export')) return []
  if (modifiers.includes('default')) return ['default']
  if (is.isVariableStatement(node)) return node.declarationList.declarations.flatMap((one) => bindingNames(one.name))
  return 'name' in node && is.isIdentifier(node.name as Node) ? [(node.name as Node & { text: string }).text] : []
}

function bindingNames(name: Node): string[] {
  if (is.isIdentifier(name)) return [name.text]
  const names: string[] = []
  name.forEachChild((element) => {
    if (is.isBindingElement(element) && element.name) names.push(...bindingNames(element.name))
  })
  return names
}

function shapeOf(node: Node & { readonly parameters: readonly Node[] }, text: string): FunctionShape {
  const isCallback = is.isCallExpression(node.parent) && node.parent.arguments.includes(node as never)
  const lines = text.slice(node.getStart(), node.getEnd()).split('\n').length
  return { name: functionName(node), lines, parameters: isCallback ? 0 : node.parameters.length }
}

const textOf = (node: Node): string => (is.isStringLiteral(node) ? node.text : '')
