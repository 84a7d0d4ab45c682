import { readConnection } from '../config.ts'
import type { Cutout } from '../cutout.ts'
import type * as App from '../generated/app.ts'
import { foreign, toServiceError } from '../http/answer-errors.ts'
import { withDeadline } from '../http/deadline.ts'
import { buildUrl, createTransport, sendAuthorized, type Transport } from '../http/transport.ts'
import type { ManyResult } from '../many/many-result.ts'
import { removeBackgrounds } from '../many/remove-backgrounds.ts'
import { createBatchOperations } from '../operations/batches.ts'
import { listing } from '../operations/listing.ts'
import { createTaskOperations } from '../operations/tasks.ts'
import { createUploadOperations } from '../operations/uploads.ts'
import { createWebhookOperations } from '../operations/webhooks.ts'
import type {
  ImageInput,
  ManyInput,
  MatteOptions,
  RemoveManyOptions,
  RemoveOptions,
  RequestOptions,
} from '../options.ts'
import type { ProofRequired } from '../proof.ts'
import { removeBackground } from '../remove-background.ts'
import type { Page } from '../schema.ts'
import type { AppData, AppInput, AppMethod, AppPath } from './schema.ts'
import { openTaskStream, type StreamOptions, type TaskChange } from './task-stream.ts'

export type MatteAppOptions = Omit<MatteOptions, 'apiKey'> & {
  /** The access token for the next request. Undefined: the request is sent without one, as before sign-in. */
  accessToken: () => string | undefined
  /** Called after a 401. True: `accessToken` returns a new token, and the request is sent once more. */
  renew?: (() => Promise<boolean>) | undefined
  /**
   * Called when the service asks for a recent proof of the person, such as to ask for the password and pass it to
   * `prove`. True: the request is sent once more. Default: the request fails, see `isProofRequired`.
   */
  onProofRequired?: ((required: ProofRequired) => Promise<boolean>) | undefined
}

/** Password of the person, or a code of two-factor sign-in. */
export type ProofInput = { readonly password: string } | { readonly code: string }

/** Prefixes of the Developer API and their counterparts for people. The first match counts. */
const appPaths = [
  ['/open/developer/tasks', '/app/tasks/images'],
  ['/open/developer/batch-tasks', '/app/tasks/batch'],
  ['/open/developer/uploads', '/app/tasks/uploads'],
  ['/open/developer/', '/app/developer/'],
] as const

function toAppPath(path: string): string {
  const [from, to] = appPaths.find(([prefix]) => path.startsWith(prefix)) ?? ['', '']
  return to + path.slice(from.length)
}

/** Client of the App API, for frontends whose users sign in. Tasks, batches, uploads and webhooks work as in `Matte`. */
export class MatteApp {
  readonly uploads: ReturnType<typeof createUploadOperations>
  readonly tasks: ReturnType<typeof createTaskOperations>
  readonly batches: ReturnType<typeof createBatchOperations>
  readonly webhooks: ReturnType<typeof createWebhookOperations>
  readonly #transport: Transport

  /** @throws MatteError CLIENT_CONFIG without an address */
  constructor({ accessToken, renew, onProofRequired: prove, ...options }: MatteAppOptions) {
    const authorize = (): Record<string, string> => {
      const token = accessToken()
      return token === undefined ? {} : { authorization: `Bearer ${token}` }
    }
    const transport = createTransport({ ...readConnection(options), authorize, renew, prove, toPath: toAppPath })
    this.#transport = transport
    this.uploads = createUploadOperations(transport)
    this.tasks = createTaskOperations(transport)
    this.batches = createBatchOperations(transport)
    this.webhooks = createWebhookOperations(transport)
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
  request<Path extends AppPath, Verb extends AppMethod<Path>>(
    method: Verb,
    path: Path,
    options?: Omit<RequestOptions, keyof AppInput<Path, Verb>> & AppInput<Path, Verb>,
  ): Promise<AppData<Path, Verb>> {
    return this.#transport.request(method, path, options as RequestOptions)
  }

  /**
   * Proves who the person is in this session, for ten minutes.
   * @throws MatteError INVALID_PARAMS: wrong, RATE_LIMIT_EXCEEDED: too often wrong, CONFLICT: two-factor sign-in is off
   */
  prove(proof: ProofInput, options: Pick<RequestOptions, 'signal'> = {}): Promise<App.Proof> {
    return this.#transport.request('POST', '/app/auth/sessions/current/proof', { ...options, body: proof })
  }

  /** Iterates over all records of an operation that returns pages. */
  list<Path extends AppPath>(path: Path, options: Omit<RequestOptions, 'body'> = {}) {
    type Item = AppData<Path, 'GET' & AppMethod<Path>> extends { items: (infer One)[] } ? One : never
    const read = (query: RequestOptions['query']) =>
      this.#transport.request<Page<Item>>('GET', path, { ...options, query })
    return listing(read, (options.query ?? {}) as Record<string, string>)
  }

  /** Bytes of an answer without envelope, such as the PDF of an invoice. */
  async blob(path: AppPath, options: Pick<RequestOptions, 'path' | 'query' | 'signal'> = {}): Promise<Blob> {
    const { config } = this.#transport
    const url = buildUrl(config.baseUrl, path, options)
    const attempt = () =>
      withDeadline(config.timeoutMs, options.signal, async ({ signal }) => {
        const response = await sendAuthorized(config, url, { method: 'GET', headers: {}, signal })
        if (!response.ok) throw toServiceError(response, await response.text(), config.baseUrl)
        return response.blob()
      })
    return this.#transport.retrying(attempt, { url, signal: options.signal })
  }

  /**
   * Yields changes of the workspace's tasks as they happen. Reconnects after the last change until the signal aborts.
   * @throws MatteError when the service refuses the stream for good
   */
  taskChanges(options: StreamOptions): AsyncGenerator<TaskChange> {
    const { config } = this.#transport
    const open = async (lastEventId: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
      const position: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const headers = { accept: 'text/event-stream', ...position }
      const url = buildUrl(config.baseUrl, '/app/tasks/stream', {})
      const response = await sendAuthorized(config, url, { method: 'GET', headers, signal })
      if (!response.ok) throw toServiceError(response, await response.text(), config.baseUrl)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!isStream || !response.body) throw foreign(response.status)
      return response.body
    }
    return openTaskStream(open, options)
  }
}
