import { findBatchRefusal } from '@matte/core/batch/create-batch'
import { malformedIssue } from '@matte/core/batch/inspect-sources'
import { MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { isKeyForm } from '@matte/core/storage/object-key'
import type { RequestedOutput } from '@matte/core/task/output'
import type { Plan } from '@matte/core/workspace/plan'
import { type Static, Type } from 'typebox'
import { nullable } from '../../schemas/schema.ts'
import { inMaintenance, judgeModel, judgeTarget } from './request-checks.ts'
import { type TaskRequestDeps, taskRequest } from './task-request.ts'

const { modelVersion, output } = taskRequest.properties

/** The body of batch creation. How many images a batch may have is the plan's affair and not the schema's (D50). */
export const batchRequest = Type.Object(
  {
    imageUrls: Type.Array(Type.String(), {
      minItems: 1,
      description: 'objectKeys of upload grants, one for each task; the same one may come several times.',
    }),
    modelVersion,
    callbackUrl: Type.Optional(
      nullable(
        Type.String({
          format: 'uri',
          description: 'http or https, public; gets batch.completed and the events of every task.',
        }),
      ),
    ),
    output,
  },
  {
    examples: [
      {
        imageUrls: [
          'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
          'private-uploads/2026/11/c4b7f0de-1a5e-4d0b-9e67-2f6f3a1c8b42-dog.png',
        ],
      },
    ],
  },
)

type Body = Static<typeof batchRequest>
type BatchRequest = {
  readonly imageUrls: readonly string[]
  readonly modelVersion: string
  readonly callbackUrl: string | null
  readonly output: RequestedOutput | null
}

/** Items named of a request that is refused before its objects are inspected; a body of 1 MiB can hold 300,000. */
const itemsToldMax = 1_000

/**
 * Body, then whether batches are taken at all, in the order of D4. Malformed `imageUrls` are reported here only if
 * something else would refuse the batch as a whole: they come before it. Otherwise they are reported with the other
 * invalid items, by `createBatch`, so that the list is complete (D50).
 * @throws MatteError INVALID_PARAMS, TASK_MAINTENANCE, TASK_BATCH_DISABLED, TASK_BATCH_NOT_SUPPORTED,
 *   TASK_BATCH_SIZE_EXCEEDED
 */
export async function readBatchRequest(body: Body, plan: Plan, deps: TaskRequestDeps): Promise<BatchRequest> {
  const { imageUrls, modelVersion, callbackUrl = null, output = null } = body
  const { allowedTargets } = deps.settings.current()
  const found = await Promise.all([
    judgeModel(modelVersion, deps.models),
    callbackUrl === null
      ? undefined
      : judgeTarget('/body/callbackUrl', callbackUrl, { allowedTargets, deniedNetworks: deps.deniedNetworks }),
  ])
  const issues = found.filter((issue) => issue !== undefined)
  const refusal = findRefusal(plan, imageUrls.length, deps)
  const malformed = issues.length > 0 || refusal !== undefined ? findMalformed(imageUrls) : []
  if (issues.length > 0 || malformed.length > 0) throw refuse(issues, malformed)
  if (refusal !== undefined) throw refusal
  return { imageUrls, modelVersion, callbackUrl, output }
}

function findRefusal(plan: Plan, size: number, { settings }: TaskRequestDeps): MatteError | undefined {
  const { maintenance, batchEnabled } = settings.current()
  if (maintenance) return inMaintenance()
  if (!batchEnabled) return new MatteError('TASK_BATCH_DISABLED', 'Batches are switched off here; create single tasks.')
  return findBatchRefusal(plan, size)
}

type Item = { readonly index: number; readonly imageUrl: string }

function findMalformed(imageUrls: readonly string[]): Item[] {
  const found: Item[] = []
  for (const [index, imageUrl] of imageUrls.entries()) {
    if (isKeyForm(imageUrl)) continue
    found.push({ index, imageUrl })
    if (found.length === itemsToldMax) break
  }
  return found
}

function refuse(issues: readonly Issue[], malformed: readonly Item[]): MatteError {
  if (malformed.length === 0) return invalidParams(issues)
  return invalidParams([...issues, ...malformed.map(({ index }) => malformedIssue(index))], {
    details: { items: malformed.map((item) => ({ ...item, code: 'INVALID_PARAMS' })) },
  })
}
