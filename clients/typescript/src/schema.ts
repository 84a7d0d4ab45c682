// Resources and requests of the service, by the names that the client gives them.
import type * as Api from './generated/api.ts'

export type {
  ApiKey,
  Batch,
  BatchSummary,
  Deleted,
  DeliveryStatus,
  ErrorCode,
  EventName,
  FailureReason,
  Model,
  NewWebhookEndpoint,
  RotatedWebhookEndpoint,
  SigningSecret,
  Task,
  TaskStatus,
  TriggeredWebhook,
  UploadGrant,
  Usage,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookEgressAddresses,
  WebhookEndpoint,
  WebhookEventDeliveries,
  WebhookRecovery,
  WebhookStats,
} from './generated/api.ts'

export type Page<T> = Api.Page & { items: T[] }

export type TaskRequest = Api.CreateTaskRequest
export type BatchRequest = Api.CreateBatchRequest
export type UploadRequest = Api.PresignUploadRequest
export type WebhookRequest = Api.CreateWebhookRequest
export type WebhookPatch = Api.UpdateWebhookRequest
export type RotateRequest = Api.RotateWebhookSecretRequest
export type RecoverRequest = Api.RecoverWebhookRequest

type QueryOf<Name extends keyof Api.operations> = NonNullable<Api.operations[Name]['parameters']['query']>
export type TaskQuery = QueryOf<'listTasks'>
export type BatchQuery = QueryOf<'listBatches'>
export type DeliveryQuery = QueryOf<'listWebhookDeliveries'>

/** Form of the result. */
export type Output = NonNullable<Api.Output>

type Method<Path extends keyof Api.paths> = {
  [Name in keyof Api.paths[Path]]: Api.paths[Path][Name] extends { responses: object } ? Name : never
}[keyof Api.paths[Path]]

export type ApiPath = keyof Api.paths

/** Methods of a path, as HTTP writes them. */
export type ApiMethod<Path extends ApiPath> = Uppercase<Method<Path> & string>

type Operation<Path extends ApiPath, Verb extends string> = Api.paths[Path][Lowercase<Verb> & keyof Api.paths[Path]]

/** `data` of an operation's answer. */
export type ApiData<Path extends ApiPath, Verb extends string> =
  Operation<Path, Verb> extends { responses: infer Responses } ? DataOf<Responses> : never
type DataOf<Responses> = Responses extends { 200: Answer<infer Data> }
  ? Data
  : Responses extends { 201: Answer<infer Data> }
    ? Data
    : unknown
type Answer<Data> = { content: { 'application/json': { data: Data } } }

/** Parameters and body of an operation. */
export type ApiInput<Path extends ApiPath, Verb extends string> = {
  path?: Operation<Path, Verb> extends { parameters: { path: infer Values } } ? Values : never
  query?: Operation<Path, Verb> extends { parameters: { query?: infer Query } } ? Query : never
  body?: Operation<Path, Verb> extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : never
}
