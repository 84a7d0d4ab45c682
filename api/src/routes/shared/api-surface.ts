// The Developer API and the App API share the code for uploads, tasks, batches, webhooks, keys, usage and models.
// A surface states each operation's URL, operationId, access and tags.
import type { MatteCode } from '@matte/core/error'
import type { TSchema } from 'typebox'
import type { Access } from '../../access.ts'
import type { toApiKeyView } from '../../schemas/api-key.ts'
import type { responses } from '../../schemas/schema.ts'

type NamedSchema = TSchema & { readonly $id: string }

export type Operation = {
  readonly url: string
  /** Unique over all surfaces. */
  readonly operationId: string
  readonly access: Access
  readonly tags: string[]
  /** Asks a signed-in member for a recent proof. */
  readonly needsProof?: true
}

export const configOf = ({ access, needsProof }: Operation) => ({ access, ...(needsProof && { needsProof }) })

export type OperationGroup = Pick<Operation, 'access' | 'tags'>

export type TaskOperation = 'createTask' | 'listTasks' | 'getTask' | 'cancelTask'

type SharedOperation =
  | TaskOperation
  | 'presignUpload'
  | 'fetchUpload'
  | 'retryTask'
  | 'eraseTaskImages'
  | `${'create' | 'get' | 'cancel'}Batch`
  | 'listBatches'
  | `${'create' | 'get' | 'update' | 'delete' | 'redeliver' | 'recover' | 'test'}Webhook`
  | 'listWebhooks'
  | 'rotateWebhookSecret'
  | 'listWebhookDeliveries'
  | 'listCallbackDeliveries'
  | 'sendWebhookSample'
  | `getWebhook${'Delivery' | 'Event' | 'Stats' | 'EgressAddresses'}`
  | 'getSigningSecret'
  | 'listApiKeys'
  | 'getUsage'
  | 'listModels'

/** Schemas of a route's responses by status; error responses list the surface's codes. */
export type Responses = <S extends TSchema>(
  status: 200 | 201,
  data: S,
  codes: readonly MatteCode[],
) => ReturnType<typeof responses<S>>

export type ApiSurface<Name extends string = SharedOperation> = {
  readonly operations: Readonly<Record<Name, Operation>>
  readonly responses: Responses
  /** Notifies the member who created a task or batch when it ends. */
  readonly notifyMaker: boolean
  /**
   * Creations of tasks, batches and uploads leave entries in the audit log. Those by keys do not: their rows name the
   * key, and an entry for each would double the writes of a creation.
   */
  readonly auditsCreations: boolean
  /** Responses name the creator of a webhook endpoint. */
  readonly showMakers: boolean
  /** Responses about API keys. */
  readonly apiKeys: { readonly schema: NamedSchema; readonly view: typeof toApiKeyView }
}
