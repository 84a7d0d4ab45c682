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
  FetchedUpload,
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
/** A task without its image. */
export type CutOutRequest = Omit<TaskRequest, 'imageUrl'>
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

type Methods<Paths, Path extends keyof Paths> = {
  [Name in keyof Paths[Path]]: Paths[Path][Name] extends { responses: object } ? Name : never
}[keyof Paths[Path]]

type Operation<Paths, Path extends keyof Paths, Verb extends string> = Paths[Path][Lowercase<Verb> & keyof Paths[Path]]

/** Methods of a path, as HTTP writes them. */
export type MethodOf<Paths, Path extends keyof Paths> = Uppercase<Methods<Paths, Path> & string>

/** `data` of an operation's answer. */
export type DataOf<Paths, Path extends keyof Paths, Verb extends string> =
  Operation<Paths, Path, Verb> extends { responses: infer Responses } ? DataOfResponses<Responses> : never
type DataOfResponses<Responses> = Responses extends { 200: Answer<infer Data> }
  ? Data
  : Responses extends { 201: Answer<infer Data> }
    ? Data
    : unknown
type Answer<Data> = { content: { 'application/json': { data: Data } } }

/** Parameters and body of an operation. */
export type InputOf<Paths, Path extends keyof Paths, Verb extends string> = {
  path?: Operation<Paths, Path, Verb> extends { parameters: { path: infer Values } } ? Values : never
  query?: Operation<Paths, Path, Verb> extends { parameters: { query?: infer Query } } ? Query : never
  body?: Operation<Paths, Path, Verb> extends { requestBody?: { content: { 'application/json': infer Body } } }
    ? Body
    : never
}

export type ApiPath = keyof Api.paths
export type ApiMethod<Path extends ApiPath> = MethodOf<Api.paths, Path>
export type ApiData<Path extends ApiPath, Verb extends string> = DataOf<Api.paths, Path, Verb>
export type ApiInput<Path extends ApiPath, Verb extends string> = InputOf<Api.paths, Path, Verb>
