// docs/situations/: situations of a pool as kubectl shows them, and their list in docs/tritonpool.md.

import { printerColumns } from '@matte/controller/operator/pool/crd'
import { replaceSection, toTable } from './markdown.ts'
import { type Situation, type SituationEvent, situations } from './pool-situations.ts'

const folder = 'docs/situations'

/** The files of `docs/situations/` by path. */
export const situationDocuments: Readonly<Record<string, () => string>> = Object.fromEntries(
  situations.map((situation) => [`${folder}/${situation.id}.md`, () => writeSituation(situation)]),
)

export const writeSituationList = (before: string): string =>
  replaceSection(
    before,
    'situations',
    toTable(
      ['situation', 'Ready', 'reason', 'what happens'],
      situations.map(({ id, title, about, pool }) => {
        const ready = pool.status.conditions.find(({ type }) => type === 'Ready')
        return [`[${title}](situations/${id}.md)`, ready?.status ?? '', `\`${ready?.reason}\``, about]
      }),
    ),
  )

function writeSituation({ title, about, pool, now, events }: Situation): string {
  const conditions = pool.status.conditions.map(({ type, status, reason, message }) => [
    type,
    status,
    `\`${reason}\``,
    message,
  ])
  return [
    '<!-- written by make gen from docs/generate/pool-scenarios.ts -->',
    `# ${title}`,
    about,
    '`kubectl get tritonpools`:',
    fence(tableOf(pool, now)),
    'The conditions that `kubectl describe tritonpool u2netp` shows:',
    toTable(['condition', 'status', 'reason', 'message'], conditions),
    'Its Events:',
    fence(events.map((event) => eventLine(event, now)).join('\n')),
    'Reasons and columns: [tritonpool-reference.md](../tritonpool-reference.md).\n',
  ].join('\n\n')
}

const fence = (text: string): string => `\`\`\`\n${text}\n\`\`\``

const eventLine = ({ type, reason, at, message }: SituationEvent, now: Date): string =>
  [type.padEnd(7), reason.padEnd(17), ageOf(at, now).padEnd(5), message].join('  ')

/** What `kubectl get tritonpools` prints. */
function tableOf(pool: Situation['pool'], now: Date): string {
  const shown = printerColumns.filter(({ priority }) => priority === undefined)
  const cells = shown.map(({ name, type, jsonPath }) => {
    const value = readPath(pool, jsonPath)
    const text = type === 'date' ? ageOf(new Date(String(value)), now) : String(value ?? '')
    return { head: name.toUpperCase(), text }
  })
  const all = [{ head: 'NAME', text: pool.metadata.name }, ...cells]
  const widths = all.map(({ head, text }) => Math.max(head.length, text.length))
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('   ')
      .trimEnd()
  return [line(all.map(({ head }) => head)), line(all.map(({ text }) => text))].join('\n')
}

/** The value at a path of the kind that columns have: fields, and one item of a list by the value of a field. */
export function readPath(value: unknown, jsonPath: string): unknown {
  const steps = jsonPath.matchAll(/\.([A-Za-z0-9]+)|\[\?\(@\.(\w+)=="([^"]*)"\)\]/g)
  return [...steps].reduce((at: unknown, [, field, key, wanted]) => {
    if (field !== undefined) return (at as Record<string, unknown> | undefined)?.[field]
    return (at as Record<string, unknown>[] | undefined)?.find((item) => item[key ?? ''] === wanted)
  }, value)
}

/** As kubectl writes it: seconds up to two minutes, then minutes and seconds up to ten. */
function ageOf(since: Date, now: Date): string {
  const seconds = Math.floor((now.getTime() - since.getTime()) / 1000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 10 && seconds % 60 > 0 ? `${minutes}m${seconds % 60}s` : `${minutes}m`
}
