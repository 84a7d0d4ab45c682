// Options and inputs of the client.
import type { Output } from './schema.ts'

export type MatteOptions = {
  /** Default: the environment variable MATTE_API_KEY. */
  apiKey?: string | undefined
  /** Ends in the version path, like `https://matte.example.com/api/v1`. Default: MATTE_BASE_URL. */
  baseUrl?: string | undefined
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
  /** Retries of one request after its first attempt. Default: 5. */
  retriesMax?: number | undefined
  /** Bound for one attempt of a request, and for the silence within a transfer. Default: 60,000. */
  timeoutMs?: number | undefined
  /** Name of your program, in front of the client's own. Browsers ignore it. */
  userAgent?: string | undefined
}

/**
 * A path (Node, Deno, Bun), an http(s) URL that the client fetches, bytes, a Blob or File, or a stream. A stream is
 * buffered, at most 20 MB, because the upload needs its length.
 */
export type ImageInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>

/** `key` names the input in the manifest and in the result. */
export type NamedInput = { key: string; input: ImageInput; fileName?: string | undefined }

export type ProgressState = 'uploading' | 'queued' | 'processing' | 'downloading' | 'done'

/** Bytes are those of the upload while uploading, and of the result afterwards. */
export type Progress = {
  readonly state: ProgressState
  readonly loadedBytes: number
  readonly totalBytes: number | undefined
  readonly taskId?: string
}

export type UploadOptions = {
  /** Default: the name of the path, URL or File. */
  fileName?: string | undefined
  /** Default: what the first bytes say. */
  contentType?: string | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Form of the result, as in `output` of the service. */
export type OutputOptions = { [Name in keyof Output]?: Output[Name] | undefined }

export type RemoveOptions = OutputOptions &
  UploadOptions & {
    /** Model version. Default: the platform's. */
    model?: string | undefined
    callbackUrl?: string | undefined
    /** Longest wait for the task. Default: 600,000. The task goes on after it; the error carries its id. */
    waitMs?: number | undefined
    /** Default: made once per call. */
    idempotencyKey?: string | undefined
  }

/** Append-only text of a manifest that lives elsewhere than in a file. */
export type ManifestStore = {
  /** The whole text; empty if there is none yet. */
  read(): Promise<string>
  /** Resolves when the text is stored. */
  append(text: string): Promise<void>
  close?(): Promise<void>
}

/** A file's path (Node, Deno, Bun) or a store. */
export type Manifest = string | ManifestStore

export type RemoveManyOptions = Omit<RemoveOptions, 'idempotencyKey' | 'onProgress' | 'fileName'> & {
  /** Tasks at once. `auto`, the default, starts at 4 and follows the limits of the service. */
  concurrency?: number | 'auto' | undefined
  /** Records each step, so a later run with the same inputs continues and pays nothing twice. */
  manifest?: Manifest | undefined
  /** Inputs that the manifest records as done: `skip`, the default, or `download` their result again. */
  done?: 'skip' | 'download' | undefined
  onProgress?: ((progress: Progress & { readonly key: string }) => void) | undefined
}

export type ManyInput = ImageInput | NamedInput

export type RequestOptions = {
  /** Values of `{names}` in the path. */
  path?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  /** Sent as JSON. */
  body?: unknown
  headers?: Readonly<Record<string, string>> | undefined
  signal?: AbortSignal | undefined
  /** A POST with a key is retried after a broken connection. Creations get one by themselves. */
  idempotencyKey?: string | undefined
}

export type CallOptions = Pick<RequestOptions, 'signal' | 'idempotencyKey'>

export type WaitOptions = Pick<RemoveOptions, 'signal' | 'waitMs' | 'onProgress'>
