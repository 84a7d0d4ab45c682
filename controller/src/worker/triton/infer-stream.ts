// One stream to a pod. Triton answers the requests of a stream in order, so it carries one at a time. However the
// stream ends, the request on it ends with an InferenceError.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { readMessage } from './infer-messages.ts'
import { errorOfStatus, InferenceError } from './inference-error.ts'
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
  /** Answers come in order: a stream whose answer no longer counts is cancelled, never used again. */
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
    /** It belongs to the trace of the request that it was opened for. */
    isTraced: traceparent !== undefined,
    isAlive: (): boolean => !ended,
    end: (): void => {
      ended = true
      call.end()
    },
    /** @throws InferenceError */
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
