// Small questions to the syntax tree.
import type { Node } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'

/** The words before a declaration: `export`, `default`, `async` … */
export function modifiersOf(node: Node): string[] {
  const { modifiers } = node as Node & { readonly modifiers?: readonly Node[] }
  return modifiers?.map((modifier) => modifier.getText()) ?? []
}

/** A name for people and for the baseline, with those of the functions around it. */
export function functionName(node: Node): string {
  const names: string[] = []
  for (let one: Node | undefined = node; one !== undefined; one = one.parent) {
    if (is.isFunctionLikeDeclaration(one) || is.isClassLikeDeclaration(one)) names.unshift(ownName(one))
  }
  return names.join(' > ')
}

function ownName(node: Node): string {
  const { name } = node as Node & { readonly name?: Node }
  if (name) return name.getText()
  const { parent } = node
  if (is.isVariableDeclaration(parent) || is.isPropertyAssignment(parent)) return parent.name.getText()
  if (is.isCallExpression(parent)) return calledAs(parent)
  return 'constructor' in node && node.getText().startsWith('constructor') ? 'constructor' : 'function'
}

/** A callback goes by what takes it, with the title of a test: `it('keeps the order')`. */
function calledAs(call: Node & { readonly expression: Node; readonly arguments: readonly Node[] }): string {
  const callee = call.expression.getText().replace(/\s+/g, ' ')
  const title = call.arguments[0]
  const short = callee.length > 40 ? `${callee.slice(0, 40)}…` : callee
  return title && is.isStringLiteral(title) ? `${short}(${title.getText()})` : `${short}()`
}

/** The callback of a `describe`: a list of tests, no function in the sense of a size. */
export function isTestBlock(node: Node): boolean {
  return is.isCallExpression(node.parent) && /^describe\b/.test(node.parent.expression.getText())
}
