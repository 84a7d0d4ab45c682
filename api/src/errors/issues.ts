import type { Issue } from '@matte/core/invalid-params'
import { headerNameWords } from '@matte/core/webhook/endpoint/own-headers'
import type { FastifySchemaValidationError } from 'fastify'
import { patternWords } from '../patterns.ts'

const parts: Readonly<Record<string, string>> = {
  body: '/body',
  querystring: '/query',
  params: '/path',
  headers: '/headers',
}

export const issuesMax = 20

export function toIssues(errors: readonly FastifySchemaValidationError[], context: string | undefined): Issue[] {
  const part = parts[context ?? ''] ?? ''
  const found = errors.flatMap((error) => issuesOf(error, `${part}${error.instancePath}`))
  // A value of the wrong type breaks several rules; the last message is the most specific.
  return [...new Map(found.map((issue) => [issue.path, issue])).values()].slice(0, issuesMax)
}

function issuesOf({ keyword, params, message = 'is invalid' }: FastifySchemaValidationError, path: string): Issue[] {
  const each = (names: readonly unknown[], words: string): Issue[] =>
    names.slice(0, issuesMax).map((name) => ({ path: `${path}/${escapePointer(String(name))}`, message: words }))
  const { requiredProperties, allowedValues, additionalProperties, propertyNames, pattern } = params
  if (keyword === 'required' && Array.isArray(requiredProperties)) return each(requiredProperties, 'is required')
  if (keyword === 'enum' && Array.isArray(allowedValues)) {
    return [{ path, message: `must be one of ${allowedValues.filter((value) => value !== null).join(', ')}` }]
  }
  if (keyword === 'additionalProperties' && Array.isArray(additionalProperties)) {
    return each(additionalProperties, 'is not known here')
  }
  if (keyword === 'propertyNames' && Array.isArray(propertyNames)) return each(propertyNames, headerNameWords)
  if (keyword === 'pattern') return [{ path, message: patternWords[String(pattern)] ?? message }]
  return [{ path, message }]
}

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
