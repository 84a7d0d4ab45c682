// Checks every response of an API under test against the API's own OpenAPI document: the operation must declare status,
// code and body. Hooks into the HTTP server, so it sees the bytes that a client receives.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { writeOut } from '@matte/generate/resolve-document'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Response = {
  readonly description: string
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}
type Operation = { readonly operationId: string; readonly responses: Readonly<Record<string, Response>> }
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

export type AnswerCheck = {
  /** @throws Error naming each response that its operation does not declare */
  end(): void
}

/** Checks responses of the server from now on. */
export function checkAnswers(server: Server, served: object): AnswerCheck {
  const judge = createJudge(served)
  const findings = new Set<string>()
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    readBody(response, (body) => {
      const finding = judge({ method: request.method ?? '', url: request.url ?? '', status: response.statusCode, body })
      if (finding !== undefined) findings.add(finding)
    })
  })
  return {
    end: () => {
      if (findings.size > 0)
        throw new Error(`The document does not declare what was answered:\n${[...findings].join('\n')}`)
    },
  }
}

/** JSON is sent as one text; undefined for other bodies. */
function readBody(response: ServerResponse, done: (body: string | undefined) => void): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse
  response.end = (...args: unknown[]) => {
    done(typeof args[0] === 'string' ? args[0] : undefined)
    return end(...args)
  }
}

type Answer = {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly body: string | undefined
}

/** Describes an undeclared response; undefined if it is declared or belongs to no operation. */
export function createJudge(served: object): (answer: Answer) => string | undefined {
  const document = writeOut(served) as Document
  const find = operationFinder(document)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema({ components: document.components }, 'document')
  const validators = new Map<object, ValidateFunction>()
  const validatorOf = (schema: object): ValidateFunction => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')
    const validate = validators.get(schema) ?? ajv.compile(JSON.parse(text) as object)
    validators.set(schema, validate)
    return validate
  }
  return ({ method, url, status, body }) => {
    const operation = find(method, url.split('?')[0] ?? '')
    if (operation === undefined) return undefined
    const { operationId, responses } = operation
    const error = status >= 400 && body !== undefined ? (JSON.parse(body) as ErrorBody).error : undefined
    const what = `${operationId} answered ${status} ${error?.code ?? ''}`.trim()
    const response = responses[status]
    if (response === undefined) return `${what}: the status is not declared`
    const schema = response.content?.['application/json']?.schema
    if (body === undefined || schema === undefined) return undefined
    const validate = validatorOf(schema)
    return validate(JSON.parse(body)) ? undefined : `${what}: ${ajv.errorsText(validate.errors)}`
  }
}

type ErrorBody = { readonly error?: { readonly code: string } }

/** The router has no route for such a path. */
const hasBrokenEscape = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return false
  } catch {
    return true
  }
}

/** Order of the router: literal paths before paths with parameters. */
function operationFinder({ paths }: Document): (method: string, path: string) => Operation | undefined {
  const patterns = Object.entries(paths).map(([path, methods]) => ({
    path,
    methods,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }))
  return (method, path) => {
    if (hasBrokenEscape(path)) return undefined
    const methods = paths[path] ?? patterns.find(({ pattern }) => pattern.test(path))?.methods
    return methods?.[method.toLowerCase()]
  }
}
