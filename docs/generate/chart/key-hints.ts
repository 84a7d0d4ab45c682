// Hints for misspelled keys in the values. Helm validates the schema before it runs a template, and its message for an
// unknown key does not name the intended one. So each key that differs by one letter from a known key, and each common
// key of other charts, gets a rule that always fails with a hint that Helm prints.
import type { JsonSchema } from './values.ts'

type Hints = { readonly properties: JsonSchema; readonly patternProperties: JsonSchema }

const hint = (text: string): JsonSchema => ({ const: text })
const write = (key: string): JsonSchema => hint(`no such value: write ${key}`)

/** Shorter keys are similar to too many others. */
const lengthMin = 4

/** Common keys of other charts, by the path of the object in which users look for them. */
const foreign: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    replicaCount: 'api.replicas, controller.replicas or dispatcher.replicas',
    worker: 'controller',
    imagePullSecrets: 'image.pullSecrets',
    nameOverride: 'fullnameOverride',
    externalDatabase: 'database.existingSecret',
    minio: 'versitygw',
    serviceMonitor: 'metrics',
    env: 'api.pod.extraEnv, and so for each component',
    nodeSelector: 'api.pod.nodeSelector, and so for each component',
    tolerations: 'api.pod.tolerations, and so for each component',
    affinity: 'api.pod.affinity, and so for each component',
    resources: 'api.resources, and so for each component',
  },
  'database.': { enabled: 'database.builtIn' },
  'nats.': { enabled: 'nats.builtIn' },
  'objectStore.': { enabled: 'objectStore.builtIn' },
  'postgresql.': { enabled: 'database.builtIn' },
  'natsServer.': { enabled: 'nats.builtIn' },
  'versitygw.': { enabled: 'objectStore.builtIn' },
  'ingress.': { hosts: 'publicUrl', hostname: 'publicUrl', ingressClassName: 'ingress.className' },
}

/** Hints for `global`, which Helm adds and other charts read. */
export const globalHints: JsonSchema = {
  imageRegistry: write('image.registry'),
  imagePullSecrets: write('image.pullSecrets'),
}

/** Hints for unknown keys of the object at `path` (`api.`, or empty for the root). */
export function hintsOf(path: string, known: readonly string[], podKeys: readonly string[]): Hints {
  const properties: Record<string, JsonSchema> = {}
  for (const [key, right] of Object.entries(foreign[path] ?? {})) properties[key] = write(right)
  if (known.includes('pod')) {
    for (const key of podKeys) properties[key] = write(`${path}pod.${key}`)
    Object.assign(properties, { replicaCount: write(`${path}replicas`), env: write(`${path}pod.extraEnv`) })
  }
  const taken = [...known, ...Object.keys(properties)]
  const patterns = known.flatMap((key): [string, JsonSchema][] => {
    const pattern = oneLetterFrom(key)
    const isClear = key.length >= lengthMin && !taken.some((other) => new RegExp(pattern).test(other))
    return isClear ? [[pattern, hint(`no such value: did you mean ${key}?`)]] : []
  })
  for (const key of known) delete properties[key]
  return { properties, patternProperties: Object.fromEntries(patterns) }
}

/** Pattern of the word with one letter added, removed or changed, or two swapped; never the word itself. */
export function oneLetterFrom(word: string): string {
  const ways = new Set<string>()
  for (let at = 0; at <= word.length; at += 1) {
    const [before, letter, after] = [word.slice(0, at), word.slice(at, at + 1), word.slice(at + 1)]
    ways.add(`${before}\\w${letter}${after}`)
    if (letter === '') continue
    ways.add(`${before}[^${letter}]?${after}`)
    const next = after.slice(0, 1)
    if (next !== '' && next !== letter) ways.add(`${before}${next}${letter}${after.slice(1)}`)
  }
  return `^(${[...ways].join('|')})$`
}
