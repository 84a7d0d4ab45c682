// Client of one Triton pod: probes, and one stream per request in flight, reused unless traced. All ways in which a pod
// ends its streams become `unavailable` (inference-error.ts), so the task is given back without costing an attempt.
import * as grpc from '@grpc/grpc-js'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import {
  buildRequest,
  createIdleStreams,
  type InferInput,
  type InferStream,
  openStream,
  readMask,
} from './infer-stream.ts'
import { InferenceError, isUnavailable } from './inference-error.ts'
import { cautiousKeepalive } from './keepalive.ts'
import { probeReadiness, probeShape } from './probe.ts'
import { channelOptions, type TritonStub, type TritonStubClass } from './triton-protocol.ts'

export type TritonClient = ReturnType<typeof connectTriton>

type ConnectOptions = {
  readonly keepalive?: grpc.ClientOptions
  /** Streams alternate. 320 × 320 images reach 600 to 890 per second with 1, 2 or 4 connections alike. */
  readonly channels?: number
  /** Verifies the certificate of the address; plain text by default, as pods of TritonPools speak. */
  readonly tls?: boolean
}

type Connection = ReturnType<typeof connect>

const idleMs = 2_000

export function connectTriton(Stub: TritonStubClass, address: string, options: ConnectOptions = {}) {
  const connection = connect(Stub, address, options)
  const probing = { stub: connection.first, signal: connection.closing.signal }
  return {
    /** @throws InferenceError failed: unsupported shape */
    readyModel: (model: string) => probeShape(probing, model),
    isReady: (model: string) => probeReadiness(probing, model),
    /** @throws InferenceError */
    infer: (input: InferInput) => infer(connection, input),
    /** A stopping server waits for open streams, used or idle. */
    endIdleStreams: () => connection.idle.endAll(),
    /** Takes no more requests; closes after the last one. */
    retire: () => retire(connection),
    /** Closes now: requests end with `unavailable`, probes with `unready`. */
    close: () => close(connection),
  }
}

function connect(Stub: TritonStubClass, address: string, options: ConnectOptions) {
  const { keepalive = cautiousKeepalive, channels = 1, tls = false } = options
  const credentials = tls ? grpc.credentials.createSsl() : grpc.credentials.createInsecure()
  const dial = (): TritonStub => new Stub(address, credentials, { ...channelOptions, ...keepalive })
  const first = dial()
  return {
    first,
    stubs: [first, ...Array.from({ length: channels - 1 }, dial)],
    idle: createIdleStreams(idleMs),
    closing: new AbortController(),
    streamsOpened: 0,
    inFlight: 0,
    retired: false,
  }
}

async function infer(connection: Connection, input: InferInput): Promise<Buffer> {
  // The pod may have been removed since it was chosen; gRPC throws arbitrary errors on a closed channel.
  if (connection.retired) throw new InferenceError('unavailable', 'the pod was removed')
  connection.inFlight++
  try {
    return await askOnSome(connection, input)
  } finally {
    connection.inFlight--
    if (connection.retired && connection.inFlight === 0) close(connection)
  }
}

async function askOnSome(connection: Connection, input: InferInput): Promise<Buffer> {
  // A stream carries the trace of its first request, so traced requests need a new one.
  const idle = currentTraceparent() === undefined ? connection.idle.take() : undefined
  if (idle === undefined) return askOn(connection, open(connection), input)
  try {
    return await askOn(connection, idle, input)
  } catch (error) {
    // An idle stream may have died with the pod still healthy; an inference can be repeated.
    if (!isUnavailable(error) || input.signal.aborted || connection.retired) throw error
    return askOn(connection, open(connection), input)
  }
}

async function askOn(connection: Connection, stream: InferStream, input: InferInput): Promise<Buffer> {
  try {
    return readMask(await stream.ask(buildRequest(input), input.timeoutMs, input.signal), input)
  } finally {
    // An error inside a message leaves the stream usable.
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
