// Moves parts that several operations have into the components, so that the document has each once and a generated
// client has one type for each. Names are made of what a part is, so they stay when an operation is added.
import type { AnswerKind } from '../../schemas/answer-headers.ts'
import { codesOf } from '../../schemas/schema.ts'
import { type ApiDocument, isReference, type Parameter, type Reference, type Response } from './api-document.ts'
import { schemaPrefix } from './example.ts'
import { nameSchemas } from './name-schemas.ts'

/** `kinds`: what each response is. */
export function writeOnce({ paths, components }: ApiDocument, kinds: ReadonlyMap<Response, AnswerKind>): void {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  nameSchemas(components.schemas, operations)
  const parameters = createShelf<Parameter>('parameters', components)
  const responses = createShelf<Response>('responses', components)
  for (const { parameters: own = [], responses: answers } of operations) {
    for (const parameter of own) if (!isReference(parameter)) parameters.count(parameter)
    for (const answer of Object.values(answers)) if (!isReference(answer)) responses.count(withoutWords(answer, kinds))
  }
  for (const operation of operations) {
    for (const [index, parameter] of (operation.parameters ?? []).entries()) {
      if (!isReference(parameter)) operation.parameters?.splice(index, 1, parameters.take(parameter, parameter.name))
    }
    for (const [status, answer] of Object.entries(operation.responses)) {
      if (isReference(answer)) continue
      const name = responseName(operation.operationId, answer, kinds.get(answer))
      const shared = responses.take(withoutWords(answer, kinds), name)
      const { description } = answer
      const says = isReference(shared) && Number(status) >= 400 ? {} : { description }
      operation.responses[status] = { ...shared, ...says }
    }
  }
}

/** The description of a success differs by operation; each reference has its own beside it. */
const withoutWords = (answer: Response, kinds: ReadonlyMap<Response, AnswerKind>): Response =>
  (kinds.get(answer)?.status ?? 0) >= 400 ? answer : { ...answer, description: 'Success.' }

/** Longer names are hard to read. */
const namedCodesMax = 3

/** A success is named after its schema. A refusal is named after its codes, and after what changes its headers. */
function responseName(operationId: string, response: Response, kind: AnswerKind | undefined): string {
  if (kind === undefined || kind.status < 400) {
    return response.content?.['application/json']?.schema.$ref?.slice(schemaPrefix.length) ?? operationId
  }
  const { status, credential, deprecated, idempotent } = kind
  const codes = codesOf(response)
  if (codes.length > namedCodesMax) return `${operationId}.${status}`
  return [
    ...codes,
    ...(credential === 'none' ? ['open'] : []),
    // As in schemas/answer-headers.ts.
    ...(credential === 'token' && status === 404 ? ['member'] : []),
    ...(idempotent && status === 409 ? ['idempotent'] : []),
    ...(deprecated ? ['deprecated'] : []),
  ].join('.')
}

/** Parts of one kind. Each is counted first; then one that several operations have is put into the components. */
function createShelf<Part extends Parameter | Response>(kind: string, components: ApiDocument['components']) {
  const counts = new Map<string, number>()
  const names = new Map<string, string>()
  const put = (text: string, wanted: string, part: Part): string => {
    const shelf = components[kind] ?? {}
    let name = wanted
    for (let next = 2; Object.hasOwn(shelf, name); next++) name = `${wanted}.${next}`
    names.set(text, name)
    components[kind] = { ...shelf, [name]: part }
    return name
  }
  return {
    count(part: Part): void {
      const text = JSON.stringify(part)
      counts.set(text, (counts.get(text) ?? 0) + 1)
    },
    /** A reference, or the part itself if no other operation has it. */
    take(part: Part, wanted: string): Part | Reference {
      const text = JSON.stringify(part)
      if ((counts.get(text) ?? 0) < 2) return part
      return { $ref: `#/components/${kind}/${names.get(text) ?? put(text, wanted, part)}` }
    },
  }
}
