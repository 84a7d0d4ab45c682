// Files generated from the chart's values.yaml and from the table of permissions.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { replaceSection, toTable } from '../markdown.ts'
import { globalHints, hintsOf } from './key-hints.ts'
import { type ChartValue, flatten, type JsonSchema, readChartValues } from './values.ts'

/** `values.schema.json`: strict, with the description of each value. */
export function writeValuesSchema(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft-07/schema#',
    title: 'Values of the chart matte',
    ...toObject(readChartValues(), ''),
  }
  // Helm adds `global` to the values of every chart.
  const global = {
    type: 'object',
    description: 'Helm adds this object; the chart does not use it.',
    properties: globalHints,
  }
  return `${JSON.stringify({ ...schema, properties: { ...schema.properties, global } }, null, 2)}\n`
}

export const writeValuesTable = (before: string): string =>
  replaceSection(
    before,
    'values',
    toTable(
      ['value', 'default', 'meaning'],
      flatten(readChartValues().map(closeAliases))
        .filter(({ children }) => children.length === 0)
        .map(({ path, defaultValue, description, sameAs }) => [
          `\`${path.join('.')}\``,
          sameAs === undefined ? `\`${JSON.stringify(defaultValue)}\`` : '',
          sameAs === undefined ? description : `${description} As \`${sameAs}\`.`.trim(),
        ]),
    ),
  )

/** Rules of the two Roles, from the tables that `test/kube/operator-rights.test.ts` uses. */
export const writeOperatorRules = (): string => writeRules('rights')
export const writeWorkerRules = (): string => writeRules('worker rights')

function writeRules(mark: string): string {
  const document = readFileSync(join(rootDir, 'docs/operator.md'), 'utf8')
  const table = new RegExp(`<!-- ${mark}:[^\\n]*\\n((?:\\|.*\\n)+)`).exec(document)?.[1]
  if (table === undefined) throw new Error(`docs/operator.md has no table with the mark "${mark}"`)
  const rules = table.trimEnd().split('\n').slice(2).map(toRule)
  return `# Written by \`make gen\` from the table of permissions in docs/operator.md.\nrules:\n${rules.join('')}`
}

function toRule(row: string): string {
  const [group = '', resource = '', names = '', verbs = '', why = ''] = row
    .split('|')
    .slice(1)
    .map((cell) => cell.trim())
  const reason = `${why.charAt(0).toUpperCase()}${why.slice(1)}.`
  const only = names === '' ? '' : `, resourceNames: [${names}]`
  return `  # ${reason}\n  - { apiGroups: ["${group}"], resources: [${resource}]${only}, verbs: [${verbs}] }\n`
}

/** Lists the fields of an alias only at its first use. */
const closeAliases = (value: ChartValue): ChartValue => ({
  ...value,
  children: value.sameAs === undefined ? value.children.map(closeAliases) : [],
})

const nameOf = ({ path }: ChartValue): string => path.at(-1) ?? ''

function toObject(values: readonly ChartValue[], path: string) {
  const podKeys = values.find((value) => nameOf(value) === 'pod')?.children.map(nameOf) ?? []
  const hints = hintsOf(path, values.map(nameOf), podKeys)
  const properties = Object.fromEntries(values.map((value) => [nameOf(value), toSchema(value)]))
  return {
    type: 'object',
    additionalProperties: false,
    properties: { ...properties, ...hints.properties },
    patternProperties: hints.patternProperties,
  }
}

function toSchema({ path, description, defaultValue, children, schema, sameAs }: ChartValue): JsonSchema {
  const described = description === '' ? {} : { description }
  // Fields are the same; only the path in a hint would differ.
  const pointer = sameAs?.split('.').map((name) => `/properties/${name}`)
  if (pointer !== undefined) return { ...described, $ref: `#${pointer.join('')}` }
  if (children.length > 0) return { ...described, ...toObject(children, `${path.join('.')}.`) }
  return { ...described, type: typeOf(defaultValue), ...schema }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'integer'
  return value === null ? 'null' : typeof value
}
