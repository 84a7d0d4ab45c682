// One Triton pod as the controller sees it: its readiness, its slots, and streams to it. Triton answers requests of
// one stream in order, so a stream carries one request at a time: one stream per in-flight slot, kept for the next
// unless it is traced.
// Both error forms are handled: a message with `error_message` leaves the stream alive, a gRPC status ends it. If
// the pod dies or is told to stop, its streams end in one of several ways, all read as `unavailable`: the task goes
// back without an attempt spent.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { InferenceError } from './inference-error.ts'
import { cautiousKeepalive } from './keepalive.ts'
import {
  channelOptions,
  type InferRequest,
  type InferResponse,
  type ModelConfig,
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

/** `unready`: it says so, or nobody is there; `silent`: no answer in time, as of a pod that hangs or is very busy. */
export type Readiness = 'ready' | 'unready' | 'silent'

export type TritonClient = {
  readonly address: string
  /** The model's shape once it is ready to infer, else undefined. @throws InferenceError failed: wrong shapes. */
  readyModel(model: string): Promise<ModelShape | undefined>
  /** Whether the model can infer now. */
  isReady(model: string): Promise<Readiness>
  /** The mask for one model input. @throws InferenceError */
  infer(request: InferInput): Promise<Buffer>
  /** Ends the streams that rest: a server that is told to stop waits for open ones, used or not. */
  endResting(): void
  /** Takes no further request, and closes when the last one has ended. */
  retire(): void
  /** Closes at once: requests that still wait for a connection end with `unavailable`, probes as if nobody were there. */
  close(): void
}

export type ConnectOptions = {
  /** Channel options about keepalive; those of `keepalive.ts`. */
  readonly keepalive?: grpc.ClientOptions
  /**
   * Connections to the pod, 1 or more; streams take turns on them. Measured with pictures of 320 × 320 (0.3 MB), 4 and 16
   * in flight: 600 to 890 a second over 1, 2 and 4 alike, where a pod infers tens.
   */
  readonly channels?: number
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

/** How long a stream may rest before it is ended. */
const restMs = 2_000

/** A probe must be quicker than its period; a pod that takes longer is not one to send pictures to. */
const probeMs = 2_000

export function connectTriton(
  Stub: TritonStubClass,
  address: string,
  { keepalive = cautiousKeepalive, channels = 1 }: ConnectOptions = {},
): TritonClient {
  const connect = (): TritonStub =>
    new Stub(address, grpc.credentials.createInsecure(), { ...channelOptions, ...keepalive })
  const first = connect()
  const stubs = [first, ...Array.from({ length: channels - 1 }, connect)]
  const resting = new Map<InferStream, NodeJS.Timeout>()
  // A closed channel lets its calls go on to their deadline, and whoever stops would wait for them.
  const closing = new AbortController()
  let streamsOpened = 0
  let inFlight = 0
  let retired = false

  const open = (): InferStream => openStream(stubs[streamsOpened++ % stubs.length] ?? first)

  /** A stream idle, the one used last; those that died idle are dropped. */
  function takeResting(): InferStream | undefined {
    for (const [stream, timer] of [...resting].reverse()) {
      clearTimeout(timer)
      resting.delete(stream)
      if (stream.alive()) return stream
    }
    return undefined
  }

  function letRest(stream: InferStream): void {
    if (retired) {
      stream.end()
      return
    }
    const timer = setTimeout(() => {
      resting.delete(stream)
      stream.end()
    }, restMs)
    resting.set(stream, timer.unref())
  }

  function endResting(): void {
    for (const [stream, timer] of resting) {
      clearTimeout(timer)
      stream.end()
    }
    resting.clear()
  }

  function close(): void {
    retired = true
    endResting()
    closing.abort()
    for (const stub of stubs) stub.close()
  }

  async function askOn(stream: InferStream, input: InferInput): Promise<Buffer> {
    try {
      return maskOf(await stream.ask(toRequest(input), input.timeoutMs, input.signal), input)
    } finally {
      // An error inside a message leaves the stream as good as before.
      if (stream.alive()) {
        if (stream.isTraced) stream.end()
        else letRest(stream)
      }
    }
  }

  async function askOnSome(input: InferInput): Promise<Buffer> {
    // The trace is told in the head of a stream, so a stream that was opened for one picture is another's no more.
    const rested = currentTraceparent() === undefined ? takeResting() : undefined
    if (rested === undefined) return askOn(open(), input)
    try {
      return await askOn(rested, input)
    } catch (error) {
      // It may have died idle, which says nothing of the pod; an inference can be asked for twice.
      if (!isGone(error) || input.signal.aborted || retired) throw error
      return askOn(open(), input)
    }
  }

  return {
    address,
    readyModel: (model) => readyModel({ stub: first, signal: closing.signal }, model),
    isReady: (model) => isReady({ stub: first, signal: closing.signal }, model),
    infer: async (input) => {
      // Between the choice of this pod and now it may have been let go; on a closed channel gRPC throws what it likes.
      if (retired) throw new InferenceError('unavailable', 'the pod has been let go')
      inFlight++
      try {
        return await askOnSome(input)
      } finally {
        inFlight--
        if (retired && inFlight === 0) close()
      }
    },
    endResting,
    retire: () => {
      retired = true
      if (inFlight === 0) close()
      else endResting()
    },
    close,
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
  /** It belongs to the trace of the picture that it was opened for. */
  readonly isTraced: boolean
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
    isTraced: traceparent !== undefined,
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
  const isGoneNow = unavailableCodes.has(error.code) || isTransport(error)
  return new InferenceError(isGoneNow ? 'unavailable' : 'failed', error.details, error)
}

/**
 * A connection that broke under a call. grpc-js makes INTERNAL of a stream that was reset or ended without a status, as
 * Triton's own inference errors are, and RESOURCE_EXHAUSTED of a peer that wants fewer pings; its words tell them apart.
 */
const isTransport = ({ code, details }: grpc.ServiceError): boolean =>
  (code === grpc.status.INTERNAL && details.startsWith('Received RST_STREAM')) ||
  (code === grpc.status.RESOURCE_EXHAUSTED && details.startsWith('Bandwidth exhausted'))

/** An error inside a message has no code; Triton's own words for "not here, not now" are these. */
const fromMessage = (message: string): InferenceError =>
  new InferenceError(
    /unknown model|not ready|unavailable|shutting down|is not found/i.test(message) ? 'unavailable' : 'failed',
    message,
  )

type Probing = { readonly stub: TritonStub; readonly signal: AbortSignal }

async function isReady(probing: Probing, model: string): Promise<Readiness> {
  try {
    const { ready = false } = await unary(probing, 'ModelReady', model)
    return ready ? 'ready' : 'unready'
  } catch (error) {
    return error instanceof InferenceError && error.kind === 'timeout' ? 'silent' : 'unready'
  }
}

async function readyModel(probing: Probing, model: string): Promise<ModelShape | undefined> {
  if ((await isReady(probing, model)) !== 'ready') return undefined
  const told = await Promise.all([unary(probing, 'ModelMetadata', model), unary(probing, 'ModelConfig', model)]).catch(
    () => undefined, // ready a moment ago, and gone meanwhile
  )
  if (told === undefined) return undefined
  const [metadata, { config = {} }] = told
  return { inputSize: inputSizeOf(model, metadata), slots: slotsOf(config) }
}

/** Instances × preferred batch. A group's count is for each of its GPUs. */
function slotsOf({ instance_group: groups = [], dynamic_batching: batching, max_batch_size }: TritonConfig): number {
  const instances = groups.reduce((sum, { count = 1, gpus = [] }) => sum + count * Math.max(1, gpus.length), 0)
  const batch = batching ? Math.max(1, ...(batching.preferred_batch_size ?? [max_batch_size ?? 1])) : 1
  return Math.max(1, instances) * batch
}

function inputSizeOf(model: string, { inputs = [], outputs = [] }: ModelMetadata): number {
  const side = Number(inputs[0]?.shape[1])
  const isImage = matches(inputs[0], 'image', [-1, side, side, 3])
  // Refining works on cells of four by four.
  const isSide = side > 0 && side % 4 === 0
  if (!isImage || !matches(outputs[0], 'alpha', [-1, side, side]) || !isSide) {
    const wanted = 'must take image UINT8 [N,S,S,3] and give alpha UINT8 [N,S,S], S a multiple of 4'
    throw new InferenceError('failed', `model ${model} ${wanted}; it has ${tell(inputs)} and ${tell(outputs)}`)
  }
  return side
}

const tell = (tensors: readonly TensorMetadata[]): string =>
  tensors.map(({ name, datatype, shape }) => `${name} ${datatype} [${shape.join()}]`).join(', ') || 'no tensor'

const matches = (tensor: TensorMetadata | undefined, name: string, shape: readonly number[]): boolean =>
  tensor?.name === name && tensor.datatype === 'UINT8' && tensor.shape.map(Number).join() === shape.join()

type TritonConfig = NonNullable<ModelConfig['config']>

type UnaryName = 'ModelReady' | 'ModelMetadata' | 'ModelConfig'
type UnaryResponse<N extends UnaryName> = Parameters<Parameters<TritonStub[N]>[2]>[1] & {}

function unary<N extends UnaryName>({ stub, signal }: Probing, method: N, name: string): Promise<UnaryResponse<N>> {
  return new Promise((resolve, reject) => {
    const call = stub[method](
      { name },
      { deadline: Date.now() + probeMs },
      (error: grpc.ServiceError | null, response?: unknown) => {
        signal.removeEventListener('abort', cancel)
        if (error) reject(fromStatus(error))
        else resolve(response as UnaryResponse<N>)
      },
    )
    const cancel = (): void => call.cancel()
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
  })
}
