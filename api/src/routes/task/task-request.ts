import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { defaultModelVersion } from '@matte/core/model/model-queries'
import type { Settings } from '@matte/core/setting/setting'
import { isKeyForm } from '@matte/core/storage/object-key'
import type { RequestedOutput } from '@matte/core/task/output'
import { type Static, Type } from 'typebox'
import type { ModelCache } from '../../model-cache.ts'
import { outputSchema } from '../../schemas/output.ts'
import { nullable, withDefault } from '../../schemas/schema.ts'
import { inMaintenance, judgeModel, judgeTarget } from './request-checks.ts'

const modelVersionWords =
  '`service-v2` is always valid and means the platform default. The refusal of an invalid name lists the valid ones.'

/** The body of task creation. */
export const taskRequest = Type.Object(
  {
    imageUrl: Type.String({ description: 'objectKey of an upload grant. Other URLs cannot be fetched.' }),
    modelVersion: withDefault(nullable(Type.String({ description: modelVersionWords })), defaultModelVersion),
    callbackUrl: Type.Optional(
      nullable(
        Type.String({
          format: 'uri',
          description:
            'http or https, public; gets task.succeeded and task.failed, signed with the secret of your workspace.',
        }),
      ),
    ),
    output: Type.Optional(outputSchema),
  },
  { examples: [{ imageUrl: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg' }] },
)

export type TaskRequestDeps = {
  readonly models: ModelCache
  readonly settings: { current(): Settings }
  readonly deniedNetworks: readonly string[]
}

type Body = Static<typeof taskRequest>
type TaskRequest = {
  readonly imageUrl: string
  readonly modelVersion: string
  readonly callbackUrl: string | null
  /** Its format is not judged yet: that comes after the object (D4). */
  readonly output: RequestedOutput | null
}

/**
 * What the schema cannot judge: the key's form (D22), an installed model (D38), a public target (D66); then whether
 * new tasks are taken at all.
 * @throws MatteError INVALID_PARAMS naming every invalid field, TASK_MAINTENANCE
 */
export async function readTaskRequest(body: Body, deps: TaskRequestDeps): Promise<TaskRequest> {
  const { allowedTargets, maintenance } = deps.settings.current()
  const { modelVersion } = body
  const callbackUrl = body.callbackUrl ?? null
  const found = await Promise.all([
    judgeImageUrl(body.imageUrl),
    judgeModel(modelVersion, deps.models),
    callbackUrl === null
      ? undefined
      : judgeTarget('/body/callbackUrl', callbackUrl, { allowedTargets, deniedNetworks: deps.deniedNetworks }),
  ])
  const issues = found.filter((issue) => issue !== undefined)
  if (issues.length > 0) throw invalidParams(issues)
  if (maintenance) throw inMaintenance()
  return { imageUrl: body.imageUrl, modelVersion, callbackUrl, output: body.output ?? null }
}

function judgeImageUrl(imageUrl: string): Issue | undefined {
  if (isKeyForm(imageUrl)) return undefined
  return { path: '/body/imageUrl', message: 'must be the objectKey of an upload grant; URLs are not fetched' }
}
