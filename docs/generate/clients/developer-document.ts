// The parts of the OpenAPI document that clients need: successes of one API, bodies of webhooks, and their schemas.
// Errors, headers and examples are left out: a client reads errors by their code.
import { selectComponents } from '@matte/api/http/document/split-document'
import { buildServedDocument } from '../build-document.ts'
import { writeOut } from '../resolve-document.ts'

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

type Media = { readonly schema: Schema }
type Response = { readonly description: string; readonly content?: Readonly<Record<string, Media>> }
type Operation = {
  readonly operationId: string
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, Response>>
}
type Methods = Readonly<Record<string, Operation>>
type Schemas = Readonly<Record<string, Schema>>

export type DeveloperDocument = {
  readonly paths: Readonly<Record<string, Methods>>
  readonly components: { readonly schemas: Schemas }
}

type Whole = DeveloperDocument & { readonly webhooks: object }

/** Base addresses of clients end in it. */
const versionPath = '/api/v1'
const developerPath = `${versionPath}/open/developer/`

let served: Promise<Whole> | undefined

/** Built once for all generated files. */
const getServed = (): Promise<Whole> => {
  served ??= buildServedDocument() as Promise<Whole>
  return served
}

/** Operations for API keys. Paths are relative to the base address of a client. */
export const buildDeveloperDocument = async (): Promise<DeveloperDocument> =>
  selectPart(await getServed(), (path) => path.startsWith(developerPath))

/** Operations for frontends: those of the App API, and others below the version path. */
export const buildAppDocument = async (): Promise<DeveloperDocument> =>
  selectPart(await getServed(), (path) => path.startsWith(`${versionPath}/`) && !path.startsWith(developerPath))

function selectPart(served: Whole, isKept: (path: string) => boolean): DeveloperDocument {
  const { components, webhooks, ...document } = served
  const { paths } = writeOut(served) as Whole
  const kept = Object.fromEntries(
    Object.entries(paths)
      .filter(([path]) => isKept(path))
      .map(([path, methods]) => [path.slice(versionPath.length), selectMethods(methods, served.paths[path] ?? {})]),
  )
  const { schemas: used = {} } = selectComponents([kept, webhooks], components)
  // A client handles errors of every operation alike, so it needs all codes and no schema of one operation's errors.
  const schemas = Object.entries(components.schemas).filter(([name]) => name in used || name === 'ErrorCode')
  return { ...document, paths: kept, components: { schemas: Object.fromEntries(schemas) } }
}

/** Bodies keep the names of their schemas, which `writeOut` resolves. */
const selectMethods = (methods: Methods, served: Methods): Methods =>
  Object.fromEntries(
    Object.entries(methods).map(([method, operation]) => {
      const { requestBody } = served[method] ?? {}
      return [method, { ...keepSuccesses(operation), ...(requestBody && { requestBody }) }]
    }),
  )

function keepSuccesses(operation: Operation): Operation {
  const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 400)
  const keep = ({ description, content = {} }: Response): Response => ({
    description,
    content: mapValues(content, ({ schema }) => ({ schema })),
  })
  return { ...operation, responses: mapValues(Object.fromEntries(successes), keep) }
}

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
