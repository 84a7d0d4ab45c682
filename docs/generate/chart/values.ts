// The chart's values.yaml as data: each value with the comment above it as description. A last line `@schema {…}` adds
// JSON Schema that the default cannot express.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { type Document, isAlias, isMap, isPair, isScalar, type Node, parseDocument, type YAMLMap } from 'yaml'

export type JsonSchema = { readonly [member: string]: unknown }

export type ChartValue = {
  /** Keys from the root, such as `api`, `service`, `port`. */
  readonly path: readonly string[]
  readonly description: string
  readonly defaultValue: unknown
  /** Fields of a group; empty for a single value. */
  readonly children: readonly ChartValue[]
  /** Content of the line `@schema`. */
  readonly schema: JsonSchema
  /** Path of the first use of the same values, for an alias (`*pod`). */
  readonly sameAs?: string
}

/** @throws Error naming every value without a description */
export function readChartValues(): readonly ChartValue[] {
  const document = parseDocument(readFileSync(join(rootDir, 'charts/matte/values.yaml'), 'utf8'))
  if (!isMap(document.contents)) throw new Error('values.yaml is no map')
  const values = readMap({ document, seen: new Map() }, document.contents, [])
  const silent = flatten(values).filter(({ description, children }) => description === '' && children.length === 0)
  if (silent.length > 0) throw new Error(`without a sentence: ${silent.map(({ path }) => path.join('.')).join(', ')}`)
  return values
}

export const flatten = (values: readonly ChartValue[]): readonly ChartValue[] =>
  values.flatMap((value) => [value, ...flatten(value.children)])

/** `seen`: path of each group. */
type Reading = { readonly document: Document; readonly seen: Map<Node, string> }

function readMap(reading: Reading, map: YAMLMap, above: readonly string[]): readonly ChartValue[] {
  const { document, seen } = reading
  seen.set(map, above.join('.'))
  return map.items.filter(isPair).map(({ key, value }, index) => {
    const path = [...above, isScalar(key) ? String(key.value) : '']
    // YAML attaches the comment above a map's first key to the map. A blank line ends a comment.
    const comment = (index === 0 ? map.commentBefore : undefined) ?? (key as Node).commentBefore ?? ''
    const { description, schema } = readComment(comment, path)
    const node = isAlias(value) ? value.resolve(document) : value
    const sameAs = isAlias(value) && isMap(node) ? seen.get(node) : undefined
    const isGroup = isMap(node) && node.items.length > 0 && Object.keys(schema).length === 0
    return {
      path,
      description,
      schema,
      defaultValue: (node as Node | null)?.toJS(document) ?? null,
      children: isGroup ? readMap({ ...reading, seen: sameAs === undefined ? seen : new Map() }, node, path) : [],
      ...(sameAs !== undefined && { sameAs }),
    }
  })
}

function readComment(comment: string, path: readonly string[]): Pick<ChartValue, 'description' | 'schema'> {
  // The last paragraph belongs to the value; the first one of the file describes the file.
  const lines =
    comment
      .split(/\n\s*\n/)
      .at(-1)
      ?.split('\n')
      .map((line) => line.trim()) ?? []
  const schemas = lines.filter((line) => line.startsWith('@schema '))
  if (schemas.length > 1) throw new Error(`${path.join('.')}: one line @schema is enough`)
  return {
    description: lines
      .filter((line) => !line.startsWith('@schema '))
      .join(' ')
      .trim(),
    schema: schemas[0] === undefined ? {} : JSON.parse(schemas[0].slice('@schema '.length)),
  }
}
