// One gRPC stream to a pod. Triton answers a stream's requests in order, so it carries one at a time. However the
// stream ends, its request ends with an InferenceError.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { errorOfMessage, errorOfStatus, InferenceError } from './inference-error.ts'
import type { InferRequest, InferResponse, StreamResponse, TritonStub } from './triton-protocol.ts'

export type InferStream = ReturnType<typeof openStream>

type Pending = { readonly resolve: (answer: InferResponse) => void; readonly reject: (error: InferenceError) => void }

export function openStream(stub: TritonStub) {
  const traceparent = currentTraceparent()
  const call = stub.ModelStreamInfer(buildHeader(traceparent))
  let pending: Pending | undefined
  let ended = false

  function settle(answer: InferResponse | InferenceError): void {
    const settled = pending
    pending = undefined
    if (answer instanceof InferenceError) settled?.reject(answer)
    else settled?.resolve(answer)
  }
  function fail(error: InferenceError): void {
    ended = true
    settle(error)
  }
  /** A late answer would go to the next request, so the stream is cancelled. */
  function giveUp(error: InferenceError): void {
    fail(error)
    call.cancel()
  }
  call.on('data', (message: StreamResponse) => {
    const answer = readMessage(message)
    if (answer !== undefined) settle(answer)
  })
  call.on('error', (error: grpc.ServiceError) => fail(errorOfStatus(error)))
  call.on('end', () => fail(new InferenceError('unavailable', 'the model server ended the stream')))

  return {
    isTraced: traceparent !== undefined,
    isAlive: (): boolean => !ended,
    end: (): void => {
      ended = true
      call.end()
    },
    ask: async (request: InferRequest, timeoutMs: number, signal: AbortSignal): Promise<InferResponse> => {
      const abort = (): void => giveUp(new InferenceError('unavailable', 'stopped'))
      const timer = setTimeout(() => giveUp(new InferenceError('timeout', `no answer in ${timeoutMs} ms`)), timeoutMs)
      signal.addEventListener('abort', abort, { once: true })
      try {
        return await new Promise<InferResponse>((resolve, reject) => {
          pending = { resolve, reject }
          if (signal.aborted) abort()
          else if (ended) fail(new InferenceError('unavailable', 'the stream has ended'))
          else call.write(request)
        })
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
      }
    },
  }
}

function buildHeader(traceparent: string | undefined): grpc.Metadata {
  const metadata = new grpc.Metadata()
  metadata.set('triton_grpc_error', 'true') // errors as gRPC status codes, where the server knows how
  if (traceparent) metadata.set('traceparent', traceparent)
  return metadata
}

export type InferInput = {
  readonly model: string
  /** Task, run and claim; echoed by the server and checked. */
  readonly id: string
  /** RGB, `size` × `size` × 3 bytes. */
  readonly image: Uint8Array
  readonly size: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export const buildRequest = ({ model, id, image, size }: InferInput): InferRequest => ({
  model_name: model,
  id,
  inputs: [{ name: 'image', datatype: 'UINT8', shape: [1, size, size, 3] }],
  outputs: [{ name: 'alpha' }],
  raw_input_contents: [image],
})

export function readMessage(message: StreamResponse): InferResponse | InferenceError | undefined {
  if (message.error_message) return errorOfMessage(message.error_message)
  return message.infer_response ?? undefined
}

/** @throws InferenceError failed: the answer belongs to another request or has another size */
export function readMask(answer: InferResponse, { id, size }: InferInput): Buffer {
  const mask = answer.raw_output_contents[0]
  if (answer.id !== id || mask === undefined || mask.length !== size * size) {
    throw new InferenceError('failed', `the model server answered ${mask?.length ?? 0} bytes for ${size * size}`)
  }
  return mask
}

/** Open streams without a request, each ended after `idleMs`: a stopping server waits for open streams. */
export function createIdleStreams(idleMs: number) {
  const idle: { readonly stream: InferStream; readonly timer: NodeJS.Timeout }[] = []
  return {
    add: (stream: InferStream): void => {
      const timer = setTimeout(() => {
        idle.splice(idle.indexOf(entry), 1)
        stream.end()
      }, idleMs)
      const entry = { stream, timer: timer.unref() }
      idle.push(entry)
    },
    take: (): InferStream | undefined => {
      for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
        clearTimeout(entry.timer)
        if (entry.stream.isAlive()) return entry.stream
      }
      return undefined
    },
    endAll: (): void => {
      for (const { stream, timer } of idle.splice(0)) {
        clearTimeout(timer)
        stream.end()
      }
    },
  }
}
