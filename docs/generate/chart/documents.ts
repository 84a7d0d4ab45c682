// What is made of the chart's values.yaml and of the table of permissions.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { replaceSection, toTable } from '../markdown.ts'
import { type ChartValue, flatten, type JsonSchema, readChartValues } from './values.ts'

/** `values.schema.json`: strict, each value with its sentence. */
export function writeValuesSchema(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft-07/schema#',
    title: 'Values of the chart matte',
    ...toObject(readChartValues()),
  }
  // Helm adds `global` to the values of every chart.
  const properties = { ...schema.properties, global: { type: 'object', description: 'Not used; Helm adds it.' } }
  return `${JSON.stringify({ ...schema, properties }, null, 2)}\n`
}

export const writeValuesTable = (before: string): string =>
  replaceSection(
    before,
    'values',
    toTable(
      ['value', 'default', 'meaning'],
      flatten(readChartValues())
        .filter(({ children }) => children.length === 0)
        .map(({ path, defaultValue, description }) => [
          `\`${path.join('.')}\``,
          `\`${JSON.stringify(defaultValue)}\``,
          description,
        ]),
    ),
  )

/** The controller's Role, from the table that `test/kube/operator-rights.test.ts` runs with. */
export function writeOperatorRules(): string {
  const document = readFileSync(join(rootDir, 'docs/operator.md'), 'utf8')
  const table = /<!-- rights:[^\n]*\n((?:\|.*\n)+)/.exec(document)?.[1]
  if (table === undefined) throw new Error('docs/operator.md has no table of permissions')
  const rules = table.trimEnd().split('\n').slice(2).map(toRule)
  return `# Written by \`make gen\` from the table of permissions in docs/operator.md.\nrules:\n${rules.join('')}`
}

function toRule(row: string): string {
  const [group = '', resource = '', verbs = '', why = ''] = row
    .split('|')
    .slice(1)
    .map((cell) => cell.trim())
  const reason = `${why.charAt(0).toUpperCase()}${why.slice(1)}.`
  return `  # ${reason}\n  - { apiGroups: ["${group}"], resources: [${resource}], verbs: [${verbs}] }\n`
}

const toObject = (values: readonly ChartValue[]) => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(values.map((value) => [value.path.at(-1) ?? '', toSchema(value)])),
})

function toSchema({ description, defaultValue, children, schema }: ChartValue): JsonSchema {
  const described = description === '' ? {} : { description }
  if (children.length > 0) return { ...described, ...toObject(children) }
  return { ...described, type: typeOf(defaultValue), ...schema }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'integer'
  return value === null ? 'null' : typeof value
}
