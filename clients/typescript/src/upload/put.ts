// The PUT of an upload, in the way that shows the most progress: a stream in Node, XMLHttpRequest in browsers.
import type { Deadline } from '../http/deadline.ts'
import type { UploadGrant } from '../schema.ts'
import { chunksOf, type Source } from '../source.ts'

export type Put = {
  readonly grant: UploadGrant
  readonly source: Source
  readonly onLoaded: (bytes: number) => void
}

/** Resolves with the status of the store's answer. */
type Send = (put: Put, deadline: Deadline, fetch: typeof globalThis.fetch) => Promise<number>

type Runtime = {
  readonly process?: { readonly versions?: Readonly<Record<string, string>> }
  readonly XMLHttpRequest?: new () => Xhr
}

/** `isWatched`: the way touches the deadline at each part that it sends. */
export function choosePut(hasOwnFetch: boolean): { readonly send: Send; readonly isWatched: boolean } {
  const { process, XMLHttpRequest } = globalThis as Runtime
  const { node, bun, deno } = process?.versions ?? {}
  // Node alone sends a stream with a Content-Length, which the store requires. Three others say that they are Node.
  const isNode = node !== undefined && bun === undefined && deno === undefined && !('WebSocketPair' in globalThis)
  if (isNode) return { send: sendStream, isWatched: true }
  if (XMLHttpRequest && !hasOwnFetch) return { send: sendXhr(new XMLHttpRequest()), isWatched: true }
  return { send: sendBlob, isWatched: false }
}

const sendStream: Send = async ({ grant, source, onLoaded }, { signal, touch }, fetch) => {
  const chunks = chunksOf(source.stream())
  let loadedBytes = 0
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await chunks.next()
    if (done) return controller.close()
    touch()
    controller.enqueue(value)
    loadedBytes += value.byteLength
    onLoaded(loadedBytes)
  }
  const cancel = async () => void (await chunks.return(undefined))
  const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
  const headers = { ...withoutLength(grant), 'content-length': String(source.sizeBytes) }
  const init = { method: grant.method, headers, body, signal, duplex: 'half' }
  const response = await fetch(grant.uploadUrl, init as RequestInit)
  await response.arrayBuffer()
  return response.status
}

const sendBlob: Send = async ({ grant, source }, { signal }, fetch) => {
  const init = { method: grant.method, headers: withoutLength(grant), body: await source.blob(), signal }
  const response = await fetch(grant.uploadUrl, init)
  await response.arrayBuffer()
  return response.status
}

type Xhr = {
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | null }
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  abort(): void
  send(body: Blob): void
  readonly status: number
}

const sendXhr =
  (xhr: Xhr): Send =>
  async ({ grant, source, onLoaded }, { signal, touch }) => {
    const blob = await source.blob()
    return new Promise((resolve, reject) => {
      xhr.open(grant.method, grant.uploadUrl)
      for (const [name, value] of Object.entries(withoutLength(grant))) xhr.setRequestHeader(name, value)
      xhr.upload.onprogress = ({ loaded }) => {
        touch()
        onLoaded(loaded)
      }
      xhr.onload = () => resolve(xhr.status)
      xhr.onerror = () => reject(new Error('the upload failed'))
      xhr.onabort = () => reject(signal.reason)
      signal.addEventListener('abort', () => xhr.abort(), { once: true })
      xhr.send(blob)
    })
  }

/** The length is sent once: browsers set it by themselves, and Node would join two spellings of the name. */
const withoutLength = ({ headers }: UploadGrant): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-length$/i.test(name)))
