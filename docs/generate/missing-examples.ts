import { buildExample, type JsonSchema } from '@matte/api/http/document/example'

type Media = { readonly schema?: JsonSchema; readonly example?: unknown; readonly examples?: object }
type Operation = {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly example?: unknown }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

/** Placeholder of the document for a text without an example (api/src/http/document/example.ts). */
const placeholder = 'text'

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** Parameters, bodies and responses of a resolved document without an example, or with a placeholder in it. */
export function findMissingExamples(document: object): string[] {
  const { paths, components } = document as Document
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, parameters = [], requestBody, responses }) => {
      const media = Object.entries({ body: requestBody, ...responses }).flatMap(([name, part]) => {
        const json = part?.content?.['application/json']
        return json === undefined
          ? []
          : [{ name, shown: json.example ?? json.examples ?? dataOf(json, components.schemas) }]
      })
      const shown = [...parameters.map(({ name, example }) => ({ name, shown: example })), ...media]
      return shown.filter((each) => isMissing(each.shown)).map(({ name }) => `${operationId} ${name}`)
    })
}

/** A response of a named schema shows the example of the schema. */
function dataOf({ schema }: Media, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  if (schema === undefined) return undefined
  return (buildExample(schema, schemas) as { readonly data?: unknown }).data
}

function isMissing(example: unknown): boolean {
  if (example === undefined || example === placeholder) return true
  return (
    typeof example === 'object' &&
    example !== null &&
    Object.values(example).some(
      (part) => part === placeholder || (typeof part === 'object' && part !== null && isMissing(part)),
    )
  )
}
