export { Cutout } from './cutout.ts'
export { type ClientCode, type MatteCode, MatteError } from './error.ts'
export type { WebhookBody as WebhookEvent } from './generated/api.ts'
export { errorCodes, eventNames, failureReasons } from './generated/constants.ts'
export type { ManyResult } from './many/many-result.ts'
export { Matte } from './matte.ts'
export type { Listing } from './operations/listing.ts'
export type {
  CallOptions,
  ImageInput,
  Manifest,
  ManifestStore,
  ManyInput,
  MatteOptions,
  NamedInput,
  OutputOptions,
  Progress,
  ProgressState,
  RemoveManyOptions,
  RemoveOptions,
  RequestOptions,
  UploadOptions,
  WaitOptions,
} from './options.ts'
export type {
  ApiData,
  ApiInput,
  ApiKey,
  ApiMethod,
  ApiPath,
  Batch,
  BatchQuery,
  BatchRequest,
  BatchSummary,
  Deleted,
  DeliveryQuery,
  DeliveryStatus,
  ErrorCode,
  EventName,
  FailureReason,
  FetchedUpload,
  Model,
  NewWebhookEndpoint,
  Output,
  Page,
  RecoverRequest,
  RotatedWebhookEndpoint,
  RotateRequest,
  SigningSecret,
  Task,
  TaskQuery,
  TaskRequest,
  TaskStatus,
  TriggeredWebhook,
  UploadGrant,
  UploadRequest,
  Usage,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookEgressAddresses,
  WebhookEndpoint,
  WebhookEventDeliveries,
  WebhookPatch,
  WebhookRecovery,
  WebhookRequest,
  WebhookStats,
} from './schema.ts'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './verify-webhook.ts'
export { version } from './version.ts'
