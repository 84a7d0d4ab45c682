// What the framework's validator found, in the words of `details.issues` (D2).
import type { Issue } from '@matte/core/invalid-params'
import type { FastifySchemaValidationError } from 'fastify'
import { patternWords } from '../schemas/patterns.ts'

const parts: Readonly<Record<string, string>> = {
  body: '/body',
  querystring: '/query',
  params: '/path',
  headers: '/headers',
}

/** Issues that a refusal lists (D2); a body of 1 MiB can have 500,000 things wrong with it. */
export const issuesMax = 20

/** What the validator found, one issue for each value, with a JSON pointer into the request. */
export function toIssues(errors: readonly FastifySchemaValidationError[], context: string | undefined): Issue[] {
  const part = parts[context ?? ''] ?? ''
  const found = errors.flatMap((error) => issuesOf(error, `${part}${error.instancePath}`))
  // A value of the wrong type breaks other rules too; the last message, such as the list of values, says most.
  return [...new Map(found.map((issue) => [issue.path, issue])).values()].slice(0, issuesMax)
}

function issuesOf({ keyword, params, message = 'is invalid' }: FastifySchemaValidationError, path: string): Issue[] {
  const each = (names: readonly unknown[], words: string): Issue[] =>
    names.slice(0, issuesMax).map((name) => ({ path: `${path}/${escapePointer(String(name))}`, message: words }))
  const { requiredProperties, allowedValues, additionalProperties, pattern } = params
  if (keyword === 'required' && Array.isArray(requiredProperties)) return each(requiredProperties, 'is required')
  if (keyword === 'enum' && Array.isArray(allowedValues)) {
    return [{ path, message: `must be one of ${allowedValues.filter((value) => value !== null).join(', ')}` }]
  }
  if (keyword === 'additionalProperties' && Array.isArray(additionalProperties)) {
    return each(additionalProperties, 'is not known here')
  }
  if (keyword === 'pattern') return [{ path, message: patternWords[String(pattern)] ?? message }]
  return [{ path, message }]
}

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
