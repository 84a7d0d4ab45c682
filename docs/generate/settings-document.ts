// The generated sections of local/README.md: ports and settings.
import { configSchema as apiSchema } from '@matte/api/config'
import { schema as workerSchema } from '@matte/controller/config'
import { operatorSchema } from '@matte/controller/operator-config'
import type { Schema } from '@matte/core/runtime/env'
import { schema as dispatcherSchema } from '@matte/dispatcher/config'
import { portRows } from '@matte/local/ports'
import { replaceSection, toTable } from './markdown.ts'

export const writePortsAndSettings = (before: string): string =>
  replaceSection(replaceSection(before, 'ports', portTable()), 'settings', settingTable())

function portTable(): string {
  return toTable(
    ['port', 'of', 'moved by'],
    portRows().map(({ fallback, what, variable }) => [String(fallback), what, `\`${variable}\``]),
  )
}

function settingTable(): string {
  type Row = { readonly processes: string[]; readonly description: string; readonly defaults: Set<string> }
  const rows = new Map<string, Row>()
  const schemas: Readonly<Record<string, Schema>> = {
    api: apiSchema,
    worker: workerSchema,
    operator: operatorSchema,
    dispatcher: dispatcherSchema,
  }
  for (const [name, schema] of Object.entries(schemas)) {
    for (const { variable, description, fallback, required } of Object.values(schema)) {
      const row = rows.get(variable) ?? { processes: [], description, defaults: new Set() }
      row.processes.push(name)
      row.defaults.add(describe(fallback, required))
      rows.set(variable, row)
    }
  }
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
  return toTable(
    ['variable', 'read by', 'default', 'meaning'],
    sorted.map(([variable, { processes, defaults, description }]) => [
      `\`${variable}\``,
      processes.length === Object.keys(schemas).length ? 'all' : processes.join(', '),
      [...defaults].join(', '),
      description,
    ]),
  )
}

/** A default as a table cell; structures are omitted. */
function describe(fallback: unknown, required: boolean): string {
  if (required) return 'none, must be set'
  if (typeof fallback === 'object') return Array.isArray(fallback) && fallback.length === 0 ? '' : 'built in'
  return fallback === undefined ? '' : `\`${fallback}\``
}
