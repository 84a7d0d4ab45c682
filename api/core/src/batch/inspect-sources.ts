// All objects of a batch are inspected before any of it is created: all or nothing (D50). An object that is named
// several times is inspected once.
import type { Db } from '../db/database.ts'
import { type MatteCode, MatteError } from '../error.ts'
import { type Issue, invalidParams } from '../invalid-params.ts'
import type { Gate } from '../runtime/concurrency/gate.ts'
import { eachAtOnce } from '../runtime/each-at-once.ts'
import { isKeyForm } from '../storage/object-key.ts'
import { findUploads } from '../upload/grant-queries.ts'
import { type Inspected, type InspectedObject, inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import type { Plan } from '../workspace/plan.ts'

export type Source = InspectedObject & { readonly uploadId: string; readonly objectKey: string }

/** Objects of one batch that are inspected at once; the gate bounds all batches together. */
const perBatch = 8

type InspectSources = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly imageUrls: readonly string[]
  /**
   * Bounds what all batches of a process inspect at once. Each inspection holds a connection to the store and up to
   * 128 KiB; without the bound a few batches would take every connection from single creations.
   */
  readonly gate: Pick<Gate, 'run'>
}

/**
 * One source for each of `imageUrls`, in their order.
 * @throws MatteError the error of the lowest bad index, `details.items` naming every bad one; or
 *   TASK_STORAGE_UNAVAILABLE as soon as one object cannot be inspected, since nobody knows then which are bad.
 */
export async function inspectSources(db: Db, bucket: Inspected, request: InspectSources): Promise<Source[]> {
  const { workspaceId, plan, imageUrls, gate } = request
  const keys = [...new Set(imageUrls.filter(isKeyForm))]
  const uploads = await findUploads(db, workspaceId, keys)
  const judged = new Map<string, Source | MatteError>()
  await eachAtOnce(perBatch, uploads, async ({ id: uploadId, objectKey }) => {
    const verdict = await gate.run(() => inspectObject(bucket, objectKey, plan)).catch(toItemError)
    judged.set(objectKey, verdict instanceof MatteError ? verdict : { ...verdict, uploadId, objectKey })
  })
  const sources: Source[] = []
  const errors: ItemError[] = []
  for (const [index, imageUrl] of imageUrls.entries()) {
    const verdict =
      judged.get(imageUrl) ?? (isKeyForm(imageUrl) ? inputForbidden() : invalidParams([malformedIssue(index)]))
    if (verdict instanceof MatteError) errors.push({ index, imageUrl, error: verdict })
    else sources.push(verdict)
  }
  if (errors.length > 0) throw itemsRefused(errors)
  return sources
}

const ofObject: readonly MatteCode[] = ['TASK_INPUT_FORBIDDEN', 'TASK_FILE_SIZE_EXCEEDED', 'TASK_FORMAT_NOT_SUPPORTED']

/** What is wrong with one object is kept for the list; what is wrong with the store, or with us, ends it all. */
function toItemError(error: unknown): MatteError {
  if (error instanceof MatteError && ofObject.includes(error.code)) return error
  throw error
}

export const malformedIssue = (index: number): Issue => ({
  path: `/body/imageUrls/${index}`,
  message: 'must be the objectKey of an upload grant; URLs are not fetched',
})

type ItemError = { readonly index: number; readonly imageUrl: string; readonly error: MatteError }

/** The refusal of a batch (D50): code and details of the lowest bad index, and a line for every bad one. */
export function itemsRefused(items: readonly ItemError[]): MatteError {
  const [first] = items
  const error = first?.error ?? inputForbidden()
  const issues = items.flatMap((item) => (item.error.details.issues as unknown[] | undefined) ?? [])
  const more = items.length === 1 ? '' : ` and ${items.length - 1} more`
  return new MatteError(error.code, `imageUrls[${first?.index}]${more} cannot be taken. ${error.message}`, {
    details: {
      ...error.details,
      ...(issues.length > 0 && { issues }),
      items: items.map(({ index, imageUrl, error: { code } }) => ({ index, imageUrl, code })),
    },
  })
}
