// `make gen` writes the generated sections of committed files anew; `make verify` fails when one is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configSchema as apiSchema } from '@matte/api/config'
import { schema as controllerSchema } from '@matte/controller/config'
import type { Schema } from '@matte/core/runtime/env'
import { schema as dispatcherSchema } from '@matte/dispatcher/config'
import { rootDir } from './paths.ts'
import { portRows } from './ports.ts'

const path = join(rootDir, 'local/README.md')
const checking = process.argv.includes('--check')

const before = readFileSync(path, 'utf8')
const after = replaceSection(replaceSection(before, 'ports', portTable()), 'settings', settingTable())
if (after === before) {
  process.stdout.write('Generated files are up to date.\n')
} else if (checking) {
  process.stderr.write('local/README.md is stale: run make gen.\n')
  process.exitCode = 1
} else {
  writeFileSync(path, after)
  process.stdout.write('Wrote local/README.md.\n')
}

function replaceSection(text: string, name: string, content: string): string {
  const start = `<!-- ${name}: written by make gen -->\n`
  const [head, rest] = text.split(start)
  const end = rest?.indexOf('<!-- end -->') ?? -1
  if (head === undefined || rest === undefined || end < 0) throw new Error(`local/README.md has no section ${name}`)
  return `${head}${start}${content}\n${rest.slice(end)}`
}

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
    controller: controllerSchema,
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

/** A default as a cell; a structure is too large for one and is left to the source. */
function describe(fallback: unknown, required: boolean): string {
  if (required) return 'none, must be set'
  if (typeof fallback === 'object') return Array.isArray(fallback) && fallback.length === 0 ? '' : 'built in'
  return fallback === undefined ? '' : `\`${fallback}\``
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
