// Splits the OpenAPI document in two: one for callers, from which the clients are generated, and one for operators.
import type { ApiDocument } from './api-document.ts'

type Tagged = ApiDocument & { readonly tags?: readonly { readonly name: string }[] }

const operatorPath = '/api/v1/operator/'

/** The part for callers, with the webhooks, and the part for operators. Each has only what it refers to. */
export function splitDocument(whole: Tagged): { readonly callers: Tagged; readonly operators: Tagged } {
  const { webhooks, ...rest } = whole
  const isForOperators = (path: string): boolean => path.startsWith(operatorPath)
  return {
    callers: selectPaths({ ...rest, ...(webhooks && { webhooks }) }, (path) => !isForOperators(path)),
    operators: selectPaths(rest, isForOperators),
  }
}

function selectPaths(whole: Tagged, isKept: (path: string) => boolean): Tagged {
  const { components, tags = [], ...rest } = whole
  const paths = Object.fromEntries(Object.entries(whole.paths).filter(([path]) => isKept(path)))
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods)) as { tags?: string[] }[]
  const usedTags = new Set(operations.flatMap((operation) => operation.tags ?? []))
  const schemes = new Set(Object.values(paths).flatMap(credentialsOf))
  const { securitySchemes = {}, ...shared } = components
  const kept = Object.fromEntries(Object.entries(securitySchemes).filter(([name]) => schemes.has(name)))
  const used = selectComponents([paths, whole.webhooks], shared)
  return {
    ...rest,
    tags: tags.filter(({ name }) => usedTags.has(name)),
    paths,
    components: { ...used, schemas: used.schemas as ApiDocument['components']['schemas'], securitySchemes: kept },
  }
}

const credentialsOf = (methods: ApiDocument['paths'][string]): string[] =>
  Object.values(methods).flatMap(({ security = [] }) => security.flatMap((one) => Object.keys(one)))

type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Components that the part refers to, directly or through others. */
export function selectComponents(part: unknown, components: Components): Record<string, Record<string, unknown>> {
  const found = new Set<string>()
  const visit = (text: string): void => {
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      const key = `${kind}/${name}`
      if (found.has(key)) continue
      found.add(key)
      visit(JSON.stringify(components[kind]?.[name]) ?? '')
    }
  }
  visit(JSON.stringify(part))
  return Object.fromEntries(
    Object.entries(components).map(([kind, shelf]) => [
      kind,
      Object.fromEntries(Object.entries(shelf).filter(([name]) => found.has(`${kind}/${name}`))),
    ]),
  )
}
