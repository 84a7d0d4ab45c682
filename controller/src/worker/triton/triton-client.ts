// Client of one Triton pod: its readiness, its slots, and one stream per in-flight slot, kept for the next request
// unless it is traced. A pod that dies or stops ends its streams in several ways; all of them read as `unavailable`
// (inference-error.ts), and the task goes back without an attempt spent.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { createIdleStreams } from './idle-streams.ts'
import { buildRequest, type InferInput, readMask } from './infer-messages.ts'
import { type InferStream, openStream } from './infer-stream.ts'
import { InferenceError, isUnavailable } from './inference-error.ts'
import { cautiousKeepalive } from './keepalive.ts'
import { probeReadiness, probeShape } from './probe.ts'
import { channelOptions, type TritonStub, type TritonStubClass } from './triton-protocol.ts'

export type TritonClient = ReturnType<typeof connectTriton>

type ConnectOptions = {
  /** One of `keepalive.ts`. */
  readonly keepalive?: grpc.ClientOptions
  /**
   * Connections to the pod, 1 or more; streams take turns on them. Measured with images of 320 × 320 (0.3 MB), 4 and 16
   * in flight: 600 to 890 a second over 1, 2 and 4 alike, where a pod infers tens.
   */
  readonly channels?: number
}

type Connection = ReturnType<typeof connect>

/** How long a stream may be idle before it is ended. */
const idleMs = 2_000

export function connectTriton(Stub: TritonStubClass, address: string, options: ConnectOptions = {}) {
  const connection = connect(Stub, address, options)
  const probing = { stub: connection.first, signal: connection.closing.signal }
  return {
    /** The model's shape once it is ready to infer, else undefined. @throws InferenceError failed: wrong shapes. */
    readyModel: (model: string) => probeShape(probing, model),
    /** Whether the model can infer now. */
    isReady: (model: string) => probeReadiness(probing, model),
    /** The mask for one model input. @throws InferenceError */
    infer: (input: InferInput) => infer(connection, input),
    /** A server that is told to stop waits for open streams, used or not. */
    endIdleStreams: () => connection.idle.endAll(),
    /** Takes no further request, and closes when the last one has ended. */
    retire: () => retire(connection),
    /** Closes at once: requests that wait for a connection end with `unavailable`, probes as if nobody were there. */
    close: () => close(connection),
  }
}

function connect(Stub: TritonStubClass, address: string, options: ConnectOptions) {
  const { keepalive = cautiousKeepalive, channels = 1 } = options
  const dial = (): TritonStub =>
    new Stub(address, grpc.credentials.createInsecure(), { ...channelOptions, ...keepalive })
  const first = dial()
  return {
    first,
    stubs: [first, ...Array.from({ length: channels - 1 }, dial)],
    idle: createIdleStreams(idleMs),
    /** Ends the probes under way. */
    closing: new AbortController(),
    streamsOpened: 0,
    inFlight: 0,
    /** It takes no further request. */
    retired: false,
  }
}

async function infer(connection: Connection, input: InferInput): Promise<Buffer> {
  // Between the choice of this pod and now it may have been let go; on a closed channel gRPC throws what it likes.
  if (connection.retired) throw new InferenceError('unavailable', 'the pod has been let go')
  connection.inFlight++
  try {
    return await askOnSome(connection, input)
  } finally {
    connection.inFlight--
    if (connection.retired && connection.inFlight === 0) close(connection)
  }
}

async function askOnSome(connection: Connection, input: InferInput): Promise<Buffer> {
  // The trace is in the header of a stream, so a stream that was opened for one request is another's no more.
  const idle = currentTraceparent() === undefined ? connection.idle.take() : undefined
  if (idle === undefined) return askOn(connection, open(connection), input)
  try {
    return await askOn(connection, idle, input)
  } catch (error) {
    // It may have died idle, which says nothing of the pod; an inference can be asked for twice.
    if (!isUnavailable(error) || input.signal.aborted || connection.retired) throw error
    return askOn(connection, open(connection), input)
  }
}

async function askOn(connection: Connection, stream: InferStream, input: InferInput): Promise<Buffer> {
  try {
    return readMask(await stream.ask(buildRequest(input), input.timeoutMs, input.signal), input)
  } finally {
    // An error inside a message leaves the stream as good as before.
    if (stream.isAlive()) {
      if (stream.isTraced || connection.retired) stream.end()
      else connection.idle.add(stream)
    }
  }
}

function open(connection: Connection): InferStream {
  const { first, stubs } = connection
  return openStream(stubs[connection.streamsOpened++ % stubs.length] ?? first)
}

function retire(connection: Connection): void {
  connection.retired = true
  if (connection.inFlight === 0) close(connection)
  else connection.idle.endAll()
}

function close(connection: Connection): void {
  connection.retired = true
  connection.idle.endAll()
  connection.closing.abort()
  for (const stub of connection.stubs) stub.close()
}
