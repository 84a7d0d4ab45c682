import { readConfig } from './config.ts'
import type { Cutout } from './cutout.ts'
import { createTransport, type Transport } from './http/transport.ts'
import type { ManyResult } from './many/many-result.ts'
import { removeBackgrounds } from './many/remove-backgrounds.ts'
import { createBatchOperations } from './operations/batches.ts'
import { listing } from './operations/listing.ts'
import { createTaskOperations } from './operations/tasks.ts'
import { createUploadOperations } from './operations/uploads.ts'
import { createWebhookOperations } from './operations/webhooks.ts'
import type {
  CallOptions,
  ImageInput,
  ManyInput,
  MatteOptions,
  RemoveManyOptions,
  RemoveOptions,
  RequestOptions,
} from './options.ts'
import { removeBackground } from './remove-background.ts'
import type { ApiData, ApiInput, ApiKey, ApiMethod, ApiPath, Model, Page, Usage } from './schema.ts'

const root = '/open/developer'

/** Client of one Matte service with one API key. Keep one for the life of the program; it holds no connection. */
export class Matte {
  readonly uploads: ReturnType<typeof createUploadOperations>
  readonly tasks: ReturnType<typeof createTaskOperations>
  readonly batches: ReturnType<typeof createBatchOperations>
  readonly webhooks: ReturnType<typeof createWebhookOperations>
  readonly #transport: Transport

  /** @throws MatteError CLIENT_CONFIG without a key or an address */
  constructor(options: MatteOptions = {}) {
    const transport = createTransport(readConfig(options))
    this.#transport = transport
    this.uploads = createUploadOperations(transport)
    this.tasks = createTaskOperations(transport)
    this.batches = createBatchOperations(transport)
    this.webhooks = createWebhookOperations(transport)
  }

  readonly apiKeys = {
    list: (options?: CallOptions) =>
      listing((query) => this.request<Page<ApiKey>>('GET', `${root}/api-keys`, { ...options, query }), {}),
  }

  readonly usage = {
    get: (options?: CallOptions): Promise<Usage> => this.request('GET', `${root}/usage`, options),
  }

  readonly models = {
    list: (options?: CallOptions) =>
      listing((query) => this.request<Page<Model>>('GET', `${root}/models`, { ...options, query }), {}),
  }

  /** Uploads the image, creates a task, waits for it and downloads the result. */
  removeBackground(input: ImageInput, options: RemoveOptions = {}): Promise<Cutout> {
    return removeBackground(this.#transport, input, options)
  }

  /** Thousands of images: reads the inputs as it needs them, and yields results as they finish. */
  removeBackgrounds(
    inputs: Iterable<ManyInput> | AsyncIterable<ManyInput>,
    options: RemoveManyOptions = {},
  ): AsyncIterableIterator<ManyResult> {
    return removeBackgrounds(this.#transport, inputs, options)
  }

  /** Sends any operation and returns the `data` of its answer. The path is relative to the base URL. */
  request<Path extends ApiPath, Verb extends ApiMethod<Path>>(
    method: Verb,
    path: Path,
    options?: Omit<RequestOptions, keyof ApiInput<Path, Verb>> & ApiInput<Path, Verb>,
  ): Promise<ApiData<Path, Verb>>
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<T>
  request(method: string, path: string, options?: RequestOptions): Promise<unknown> {
    return this.#transport.request(method, path, options)
  }
}
