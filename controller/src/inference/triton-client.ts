// One Triton pod as the controller sees it: its readiness, its slots, and streams to it. Triton answers requests of
// one stream in order, so a stream carries one request at a time: one stream per in-flight slot, kept for the next.
// Both error forms are handled: a message with `error_message` leaves the stream alive, a gRPC status ends it. If
// the pod dies, every open stream ends with UNAVAILABLE and its task goes back without an attempt spent.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { InferenceError } from './inference-error.ts'
import {
  channelOptions,
  type InferRequest,
  type InferResponse,
  type ModelMetadata,
  type StreamResponse,
  type TensorMetadata,
  type TritonStub,
  type TritonStubClass,
} from './triton-protocol.ts'

export type ModelShape = {
  /** Side of the square input in pixels. */
  readonly inputSize: number
  /** Requests that the pod works on at once: instances × preferred batch. */
  readonly slots: number
}

export type TritonClient = {
  readonly address: string
  /** The model's shape once it is ready to infer, else undefined. @throws InferenceError failed: wrong shapes. */
  readyModel(model: string): Promise<ModelShape | undefined>
  /** The mask for one model input. @throws InferenceError */
  infer(request: InferInput): Promise<Buffer>
  close(): void
}

export type InferInput = {
  readonly model: string
  /** Echoed by the server: task, run and claim, so that an answer is never taken for another's. */
  readonly id: string
  /** RGB, `size` × `size` × 3 bytes. */
  readonly image: Uint8Array
  readonly size: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** A stream at rest is ended after this: a server that is told to stop waits for open streams, used or not. */
const restMs = 2_000

/** A probe must be quicker than its period; a pod that takes longer is not one to send pictures to. */
const probeMs = 2_000

export function connectTriton(Stub: TritonStubClass, address: string): TritonClient {
  const stub = new Stub(address, grpc.credentials.createInsecure(), channelOptions)
  const idle = new Map<InferStream, NodeJS.Timeout>()

  /** A stream at rest, the one used last; those that died at rest are dropped. */
  function takeIdle(): InferStream | undefined {
    for (const [stream, timer] of [...idle].reverse()) {
      clearTimeout(timer)
      idle.delete(stream)
      if (stream.alive()) return stream
    }
    return undefined
  }

  function letRest(stream: InferStream): void {
    const timer = setTimeout(() => {
      idle.delete(stream)
      stream.end()
    }, restMs)
    idle.set(stream, timer.unref())
  }

  async function askOn(stream: InferStream, input: InferInput): Promise<Buffer> {
    try {
      return maskOf(await stream.ask(toRequest(input), input.timeoutMs, input.signal), input)
    } finally {
      // An error inside a message leaves the stream as good as before.
      if (stream.alive()) letRest(stream)
    }
  }

  return {
    address,
    readyModel: (model) => readyModel(stub, model),
    infer: async (input) => {
      const rested = takeIdle()
      if (rested === undefined) return askOn(openStream(stub), input)
      try {
        return await askOn(rested, input)
      } catch (error) {
        // It may have died at rest, which says nothing of the pod; an inference can be asked for twice.
        if (!isGone(error) || input.signal.aborted) throw error
        return askOn(openStream(stub), input)
      }
    },
    close: () => {
      for (const [stream, timer] of idle) {
        clearTimeout(timer)
        stream.end()
      }
      idle.clear()
      stub.close()
    },
  }
}

const isGone = (error: unknown): boolean => error instanceof InferenceError && error.kind === 'unavailable'

const toRequest = ({ model, id, image, size }: InferInput): InferRequest => ({
  model_name: model,
  id,
  inputs: [{ name: 'image', datatype: 'UINT8', shape: [1, size, size, 3] }],
  outputs: [{ name: 'alpha' }],
  raw_input_contents: [image],
})

function maskOf(answer: InferResponse, { id, size }: InferInput): Buffer {
  const mask = answer.raw_output_contents[0]
  if (answer.id !== id || mask === undefined || mask.length !== size * size) {
    throw new InferenceError('failed', `the model server answered ${mask?.length ?? 0} bytes for ${size * size}`)
  }
  return mask
}

type InferStream = {
  ask(request: InferRequest, timeoutMs: number, signal: AbortSignal): Promise<InferResponse>
  alive(): boolean
  end(): void
}

function openStream(stub: TritonStub): InferStream {
  const metadata = new grpc.Metadata()
  metadata.set('triton_grpc_error', 'true') // errors as gRPC status codes, where the server knows how
  const traceparent = currentTraceparent()
  if (traceparent) metadata.set('traceparent', traceparent)
  const call = stub.ModelStreamInfer(metadata)
  let pending: { resolve: (answer: InferResponse) => void; reject: (error: InferenceError) => void } | undefined
  let ended = false

  function settle(act: (waiting: NonNullable<typeof pending>) => void): void {
    const waiting = pending
    pending = undefined
    if (waiting) act(waiting)
  }
  function fail(error: InferenceError): void {
    ended = true
    settle(({ reject }) => reject(error))
  }
  call.on('data', ({ error_message: message, infer_response: answer }: StreamResponse) => {
    if (message) settle(({ reject }) => reject(fromMessage(message)))
    else if (answer) settle(({ resolve }) => resolve(answer))
  })
  call.on('error', (error: grpc.ServiceError) => fail(fromStatus(error)))
  call.on('end', () => fail(new InferenceError('unavailable', 'the model server ended the stream')))

  return {
    alive: () => !ended,
    end: () => {
      ended = true
      call.end()
    },
    ask: async (request, timeoutMs, signal) => {
      // A stream answers in order: one whose answer no longer counts is cancelled, never used again.
      const giveUp = (error: InferenceError): void => {
        fail(error)
        call.cancel()
      }
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

/** Codes that say the pod, not the picture: it stops, it is gone, or it does not serve the model just now. */
const unavailableCodes = new Set([grpc.status.UNAVAILABLE, grpc.status.CANCELLED, grpc.status.NOT_FOUND])

function fromStatus(error: grpc.ServiceError): InferenceError {
  if (error.code === grpc.status.DEADLINE_EXCEEDED) return new InferenceError('timeout', error.details, error)
  return new InferenceError(unavailableCodes.has(error.code) ? 'unavailable' : 'failed', error.details, error)
}

/** An error inside a message has no code; Triton's own words for "not here, not now" are these. */
const fromMessage = (message: string): InferenceError =>
  new InferenceError(
    /unknown model|not ready|unavailable|shutting down|is not found/i.test(message) ? 'unavailable' : 'failed',
    message,
  )

async function readyModel(stub: TritonStub, model: string): Promise<ModelShape | undefined> {
  const { ready } = await unary(stub, 'ModelReady', model).catch(() => ({ ready: false }))
  if (!ready) return undefined
  const [metadata, { config = {} }] = await Promise.all([
    unary(stub, 'ModelMetadata', model),
    unary(stub, 'ModelConfig', model),
  ])
  const instances = (config.instance_group ?? []).reduce((sum, group) => sum + (group.count ?? 1), 0)
  const batch = config.dynamic_batching
    ? Math.max(1, ...(config.dynamic_batching.preferred_batch_size ?? [config.max_batch_size ?? 1]))
    : 1
  return { inputSize: inputSizeOf(model, metadata), slots: Math.max(1, instances) * batch }
}

function inputSizeOf(model: string, { inputs, outputs }: ModelMetadata): number {
  const side = Number(inputs[0]?.shape[1])
  const isImage = matches(inputs[0], 'image', [-1, side, side, 3])
  if (!isImage || !matches(outputs[0], 'alpha', [-1, side, side]) || !(side > 0)) {
    throw new InferenceError('failed', `model ${model} must take image UINT8 [N,S,S,3] and give alpha UINT8 [N,S,S]`)
  }
  return side
}

const matches = (tensor: TensorMetadata | undefined, name: string, shape: readonly number[]): boolean =>
  tensor?.name === name && tensor.datatype === 'UINT8' && tensor.shape.map(Number).join() === shape.join()

type UnaryName = 'ModelReady' | 'ModelMetadata' | 'ModelConfig'
type UnaryResponse<N extends UnaryName> = Parameters<Parameters<TritonStub[N]>[2]>[1] & {}

function unary<N extends UnaryName>(stub: TritonStub, method: N, name: string): Promise<UnaryResponse<N>> {
  return new Promise((resolve, reject) => {
    stub[method](
      { name },
      { deadline: Date.now() + probeMs },
      (error: grpc.ServiceError | null, response?: unknown) => {
        if (error) reject(fromStatus(error))
        else resolve(response as UnaryResponse<N>)
      },
    )
  })
}
