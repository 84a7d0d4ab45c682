export { Cutout } from './cutout.ts'
export { type ClientCode, type FailureReason, type MatteCode, MatteError, type ServiceCode } from './error.ts'
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
  ApiKey,
  Batch,
  BatchRequest,
  BatchSummary,
  Deleted,
  DeliveryQuery,
  DeliveryStatus,
  Model,
  NewWebhookEndpoint,
  Output,
  Page,
  PageQuery,
  RecoverRequest,
  RotatedWebhookEndpoint,
  SigningSecret,
  Task,
  TaskQuery,
  TaskRequest,
  TaskStatus,
  UploadGrant,
  UploadRequest,
  Usage,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookPatch,
  WebhookRecovery,
  WebhookRequest,
} from './schema.ts'
export { version } from './version.ts'
export type { WebhookEvent, WebhookEventName } from './webhook/events.ts'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhook/verify.ts'
