// Example requests of an operation: curl, and the clients for operations with an API key.
import type { ListedOperation, Parameter, Schema } from './operations.ts'
import { resolveSchema } from './schema-rows.ts'

export type RequestExample = { readonly title: string; readonly language: string; readonly code: string }

type Schemas = Readonly<Record<string, Schema>>

export function requestExamples(operation: ListedOperation, schemas: Schemas): RequestExample[] {
  const request = describe(operation, schemas)
  const curl = { title: 'curl', language: 'bash', code: toCurl(request) }
  const hasClients = operation['x-required-scope'] !== undefined && operation.path.startsWith(versionPath)
  const isJson = operation.responses['200']?.content?.['text/event-stream'] === undefined
  if (!hasClients || !isJson) return [curl]
  return [
    curl,
    { title: 'TypeScript', language: 'typescript', code: toTypeScript(request) },
    { title: 'Python', language: 'python', code: toPython(request) },
  ]
}

const versionPath = '/api/v1'

type Described = {
  readonly method: string
  /** Relative to the base URL, with its variables filled in. */
  readonly path: string
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly credential: string | undefined
}

function describe(
  { method, path, parameters = [], requestBody, security }: ListedOperation,
  schemas: Schemas,
): Described {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(exampleOf(parameters, name)))
  const required = parameters.filter((one) => one.in === 'query' && one.required === true)
  const schemes = Object.keys(security?.[0] ?? {})
  const media = requestBody?.content['application/json']
  return {
    method: method.toUpperCase(),
    path: filled.startsWith(versionPath) ? filled.slice(versionPath.length) : `/../..${filled}`,
    query: Object.fromEntries(required.map(({ name }) => [name, exampleOf(parameters, name)])),
    body: media?.example ?? (media?.schema && resolveSchema(media.schema, schemas).examples?.[0]),
    credential: schemes.includes('apiKey')
      ? 'X-API-Key: $MATTE_API_KEY'
      : schemes.includes('accessToken')
        ? 'Authorization: Bearer $ACCESS_TOKEN'
        : undefined,
  }
}

function exampleOf(parameters: readonly Parameter[], name: string): unknown {
  const found = parameters.find((one) => one.name === name)
  return found?.example ?? found?.schema.examples?.[0] ?? found?.schema.enum?.[0] ?? name
}

function toCurl({ method, path, query, body, credential }: Described): string {
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query as Record<string, string>)}`
  const options = [
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
    ...(credential === undefined ? [] : [`-H "${credential}"`]),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`]),
  ]
  return [`curl "$MATTE_BASE_URL${path}${search}"`, ...options].join(' \\\n  ')
}

function toTypeScript({ method, path, query, body }: Described): string {
  const options = [
    ...(Object.keys(query).length === 0 ? [] : [`query: ${toLiteral(query, '  ')}`]),
    ...(body === undefined ? [] : [`body: ${toLiteral(body, '  ')}`]),
  ]
  const last = options.length === 0 ? '' : `, {\n  ${options.join(',\n  ')},\n}`
  const call = `const data = await matte.request('${method}', '${path}'${last})`
  return `import { Matte } from 'matte-client'\n\nconst matte = new Matte()\n${call}`
}

/** A literal of TypeScript; nested objects and arrays are indented. */
function toLiteral(value: unknown, indent: string): string {
  if (typeof value === 'string')
    return value.includes("'")
      ? JSON.stringify(value)
      : `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"')}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = `${indent}  `
  const entries = Array.isArray(value)
    ? value.map((one) => toLiteral(one, inner))
    : Object.entries(value).map(
        ([key, one]) => `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`}: ${toLiteral(one, inner)}`,
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return entries.length === 0
    ? `${open}${close}`
    : `${open}\n${inner}${entries.join(`,\n${inner}`)},\n${indent}${close}`
}

function toPython({ method, path, query, body }: Described): string {
  const options = [
    ...(Object.keys(query).length === 0 ? [] : [`query=${toPythonLiteral(query)}`]),
    ...(body === undefined ? [] : [`body=${toPythonLiteral(body)}`]),
  ]
  const last = options.length === 0 ? '' : `, ${options.join(', ')}`
  return `from matte import Matte\n\nwith Matte() as matte:\n    data = matte.request("${method}", "${path}"${last})`
}

function toPythonLiteral(value: unknown): string {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(toPythonLiteral).join(', ')}]`
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}: ${toPythonLiteral(one)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value)
}
