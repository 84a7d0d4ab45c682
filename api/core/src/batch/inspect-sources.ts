// Inspects all objects of a batch before any child is created. A repeated object is inspected once.
import type { Db } from '../db/database.ts'
import { type MatteCode, MatteError } from '../error.ts'
import { type Issue, invalidParams } from '../invalid-params.ts'
import type { Gate } from '../runtime/concurrency/fair-gate.ts'
import { eachAtOnce } from '../runtime/each-at-once.ts'
import { isKeyForm } from '../storage/object-key.ts'
import { findUploads } from '../upload/grant-queries.ts'
import { type Inspected, type InspectedObject, inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import type { Plan } from '../workspace/plan.ts'

export type Source = InspectedObject & { readonly uploadId: string; readonly objectKey: string }

/** Objects of one batch inspected at once; the gate bounds all batches together. */
const perBatch = 8

type InspectSources = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly imageUrls: readonly string[]
  /** Bounds inspections of all batches: each holds a store connection and up to 128 KiB, which single creations need. */
  readonly gate: Gate
}

/**
 * One source per entry of `imageUrls`, in order.
 * @throws MatteError the error of the lowest bad index, with every bad one in `details.items`; TASK_STORAGE_UNAVAILABLE
 *   if an object cannot be inspected
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

const objectErrors: readonly MatteCode[] = [
  'TASK_INPUT_FORBIDDEN',
  'TASK_FILE_SIZE_EXCEEDED',
  'TASK_FORMAT_NOT_SUPPORTED',
]

/** Keeps errors about an object for the list; store and internal errors end the request. */
function toItemError(error: unknown): MatteError {
  if (error instanceof MatteError && objectErrors.includes(error.code)) return error
  throw error
}

export const malformedIssue = (index: number): Issue => ({
  path: `/body/imageUrls/${index}`,
  message: 'must be the objectKey of an upload grant; URLs are not supported',
})

type ItemError = { readonly index: number; readonly imageUrl: string; readonly error: MatteError }

/** Error of a rejected batch: code and details of the lowest bad index, and an item for each bad one. */
export function itemsRefused(items: readonly ItemError[]): MatteError {
  const [first] = items
  const error = first?.error ?? inputForbidden()
  const issues = items.flatMap((item) => (item.error.details.issues as unknown[] | undefined) ?? [])
  const more = items.length === 1 ? '' : ` and ${items.length - 1} more`
  return new MatteError(error.code, `imageUrls[${first?.index}]${more} cannot be used. ${error.message}`, {
    details: {
      ...error.details,
      ...(issues.length > 0 && { issues }),
      items: items.map(({ index, imageUrl, error: { code } }) => ({ index, imageUrl, code })),
    },
  })
}
