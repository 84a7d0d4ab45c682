// Adds AUTH_FORBIDDEN to routes that require a role or a recent proof, and removes INVALID_PARAMS from routes that read
// no input.
import { roles } from '@matte/core/workspace/role'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { isOperation } from '../../access.ts'
import { codesOf, errorAnswers } from '../../schemas/schema.ts'

type Answers = Readonly<Record<string, { readonly description: string }>>

export function completeErrorCodes(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema, config } = route
    if (schema?.response === undefined || !isOperation(config ?? {})) return
    const answers = Object.entries(schema.response as Answers)
    const successes = answers.filter(([status]) => Number(status) < 400)
    const refusals = answers.filter(([status]) => Number(status) >= 400)
    const codes = new Set(refusals.flatMap(([, answer]) => codesOf(answer)))
    if (asksForRole(route) || route.config?.needsProof) codes.add('AUTH_FORBIDDEN')
    if (!readsInput(route)) codes.delete('INVALID_PARAMS')
    route.schema = { ...schema, response: { ...Object.fromEntries(successes), ...errorAnswers([...codes]) } }
  })
}

function asksForRole({ config }: RouteOptions): boolean {
  const { access } = config ?? {}
  return typeof access === 'object' && 'roles' in access && access.roles.length < roles.length
}

/** Strict handling refuses unknown query parameters on every route with an envelope (http/validation.ts). */
const readsInput = ({ config, schema = {} }: RouteOptions): boolean =>
  config?.envelope !== false || [schema.body, schema.querystring, schema.headers].some((part) => part !== undefined)
