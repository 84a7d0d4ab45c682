// A Triton that infers nothing: real gRPC and HTTP, Triton's protocol, its readiness and its ways of stopping, and a
// mask of an ellipse after a set time in an instance. For tests that count, stop and break dozens of pods; what the
// real server does is tested with the real one. It runs in a test's own process, or as a pod (test/e2e/fake-triton).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import * as grpc from '@grpc/grpc-js'
import {
  channelOptions,
  type InferRequest,
  loadTriton,
  type StreamResponse,
} from '@matte/controller/worker/triton/triton-protocol'
import { createModel, type FakeModel, type Model } from './fake/fake-model.ts'
import { freePorts } from './free-ports.ts'

/** What can be changed while it runs. */
export type Behaviour = {
  /** Time of one request in an instance, milliseconds. */
  readonly serviceMs: number
  /** Share of the inferences that are answered with an error, 0..1: evenly spread, not drawn. */
  readonly errorRate: number
  /** Inferences are taken and never answered; everything else is. */
  readonly stalls: boolean
  /** Nothing is answered at all, as by a process that is stopped. */
  readonly freezes: boolean
  /** The model's tensors are not what the controller sends. */
  readonly hasWrongShapes: boolean
  readonly isReady: boolean
}

export type FakeOptions = {
  readonly models?: readonly FakeModel[]
  readonly behaviour?: Partial<Behaviour>
  /** 127.0.0.1 by default. */
  readonly host?: string
  /** Free ones by default. */
  readonly ports?: { readonly grpc: number; readonly http: number; readonly metrics: number }
  /** How long a stop waits for what is open. */
  readonly exitTimeoutMs?: number
  /**
   * What SIGTERM does. `refuse` (25.05 and later): new calls, and new messages on open streams, are answered
   * UNAVAILABLE, and open streams have the exit time-out. `serve` (before): whoever is connected is served on, and the
   * server waits for open streams for as long as it is let, used or not.
   */
  readonly stopping?: 'refuse' | 'serve'
  /** As `--grpc-restricted-protocol`: the header that opens the repository index. */
  readonly adminHeader?: { readonly name: string; readonly value: string }
  readonly keepalive?: grpc.ServerOptions
}

export type Fake = {
  /** `host:port` of its gRPC. */
  readonly address: string
  readonly httpUrl: string
  readonly metricsUrl: string
  change(behaviour: Partial<Behaviour>): void
  counts(): Counts
  /** As SIGTERM does; returns when it is gone. */
  stop(): Promise<void>
  /** Gone at once: connections are cut. */
  kill(): Promise<void>
}

export type Counts = {
  /** Inferences asked for, answered with a mask, answered with an error, and in flight (waiting or worked on). */
  readonly asked: number
  readonly done: number
  readonly failed: number
  readonly inFlight: number
  /** The most that were in flight at once. */
  readonly inFlightMax: number
  /** Streams whose caller has given up what it asked for. */
  readonly cancelled: number
  /** How often it was asked whether its model is ready. */
  readonly probed: number
}

type Stream = grpc.ServerDuplexStream<InferRequest, StreamResponse>
type Call<Request> = grpc.ServerUnaryCall<Request, unknown>
type Done = grpc.sendUnaryData<unknown>

const calm: Behaviour = {
  serviceMs: 20,
  errorRate: 0,
  stalls: false,
  freezes: false,
  hasWrongShapes: false,
  isReady: true,
}

export async function startFake(options: FakeOptions = {}): Promise<Fake> {
  const { host = '127.0.0.1', ports = { grpc: 0, http: 0, metrics: 0 }, exitTimeoutMs = 30_000 } = options
  const { stopping: manner = 'refuse', adminHeader } = options
  const models = options.models ?? [{ name: 'u2netp' }]
  const known = new Map(models.map((model) => [model.name, createModel(model)]))
  let behaviour: Behaviour = { ...calm, ...options.behaviour }
  let isStopping = false
  let errorsOwed = 0
  const count = { asked: 0, done: 0, failed: 0, inFlight: 0, inFlightMax: 0, cancelled: 0, probed: 0 }
  const streams = new Set<Stream>()
  const thawed: (() => void)[] = []

  const isServing = (name: string): boolean => behaviour.isReady && known.get(name)?.spec.failure === undefined
  /** With strict readiness one model that did not load keeps the whole server unready. */
  const isReady = (): boolean => !isStopping && [...known.keys()].every(isServing)
  const untilThawed = (): Promise<void> =>
    behaviour.freezes ? new Promise((resolve) => thawed.push(resolve)) : Promise.resolve()

  /** A method's answer, once the server is not frozen, and refused while it refuses. */
  const unary =
    <Request>(answer: (request: Request, metadata: grpc.Metadata) => unknown) =>
    (call: Call<Request>, done: Done): void => {
      void untilThawed().then(() => {
        try {
          if (isStopping && manner === 'refuse') throw unavailable('Server is stopping, no new calls')
          done(null, answer(call.request, call.metadata))
        } catch (error) {
          done(error as grpc.ServiceError)
        }
      })
    }
  const modelNamed = (name: string): Model => {
    const model = known.get(name)
    if (model && isServing(name)) return model
    throw status(grpc.status.NOT_FOUND, `Request for unknown model: '${name}' is not found`)
  }

  async function infer(request: InferRequest, stream: Stream): Promise<StreamResponse> {
    count.asked++
    count.inFlight++
    count.inFlightMax = Math.max(count.inFlightMax, count.inFlight)
    try {
      if (behaviour.stalls) await new Promise(() => undefined)
      const { spec, instances, mask } = modelNamed(request.model_name)
      const size = request.inputs[0]?.shape[1] ?? 0
      if (size !== spec.inputSize) {
        throw status(grpc.status.INVALID_ARGUMENT, `unexpected shape for input 'image': [1,${size},${size},3]`)
      }
      await instances.use(async () => {
        // Triton, too, looks whether the caller has gone before it begins.
        if (!stream.cancelled) await pause(behaviour.serviceMs)
      })
      errorsOwed += behaviour.errorRate
      if (errorsOwed >= 1) {
        errorsOwed--
        throw status(grpc.status.INTERNAL, 'fake: set to fail')
      }
      count.done++
      const shape = [1, spec.inputSize, spec.inputSize]
      const outputs = [{ name: 'alpha', datatype: 'UINT8', shape }]
      return { infer_response: { id: request.id, outputs, raw_output_contents: [mask(request)] } }
    } catch (error) {
      count.failed++
      throw error
    } finally {
      count.inFlight--
    }
  }

  function openStream(stream: Stream): void {
    streams.add(stream)
    const asStatus = stream.metadata.get('triton_grpc_error')[0] === 'true'
    let last: Promise<unknown> = untilThawed()
    const fail = (error: unknown): void => {
      if (asStatus) stream.emit('error', error)
      else stream.write({ error_message: (error as grpc.ServiceError).details })
    }
    stream.on('data', (request: InferRequest) => {
      if (isStopping && manner === 'refuse') return void stream.emit('error', unavailable('Server is stopping'))
      const answer = untilThawed().then(() => infer(request, stream))
      answer.catch(() => undefined)
      // Answers of one stream come in the order of its requests.
      last = last.then(async () => {
        try {
          const message = await answer
          if (!stream.cancelled) stream.write(message)
        } catch (error) {
          fail(error)
        }
      })
    })
    stream.on('end', () => void last.then(() => stream.end()))
    stream.on('error', () => streams.delete(stream))
    stream.on('close', () => streams.delete(stream))
    stream.on('cancelled', () => count.cancelled++)
    stream.on('finish', () => streams.delete(stream))
  }

  const index = () =>
    [...known.values()].map(({ spec: { name, failure = '' } }) => ({
      name,
      version: '1',
      state: isServing(name) ? 'READY' : 'UNAVAILABLE',
      reason: failure,
    }))

  const server = new grpc.Server({
    'grpc.max_receive_message_length': channelOptions['grpc.max_receive_message_length'] as number,
    ...options.keepalive,
  })
  server.addService((loadTriton() as unknown as { service: grpc.ServiceDefinition }).service, {
    ServerLive: unary(() => ({ live: true })),
    ServerReady: unary(() => ({ ready: isReady() })),
    ModelReady: unary(({ name }: { name: string }) => {
      count.probed++
      return { ready: known.has(name) && isServing(name) }
    }),
    ModelMetadata: unary(({ name }: { name: string }) => modelNamed(name).metadata(behaviour.hasWrongShapes)),
    ModelConfig: unary(({ name }: { name: string }) => modelNamed(name).config),
    RepositoryIndex: unary((_request, metadata) => {
      if (adminHeader && metadata.get(`triton-grpc-protocol-${adminHeader.name}`)[0] !== adminHeader.value) {
        throw unavailable(`This protocol is restricted, expecting header 'triton-grpc-protocol-${adminHeader.name}'`)
      }
      return { models: index() }
    }),
    ModelStreamInfer: openStream,
  })

  async function answerHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await untilThawed()
    const answer = (code: number, body?: unknown): void => {
      response.statusCode = code
      response.end(body === undefined ? '' : JSON.stringify(body))
    }
    const [path] = (request.url ?? '/').split('?')
    const model = /^\/v2\/models\/([^/]+)\/ready$/.exec(path ?? '')?.[1]
    if (path === '/v2/health/live') return answer(200)
    if (path === '/v2/health/ready') return answer(isReady() ? 200 : 400)
    if (model !== undefined) return answer(known.has(model) && isServing(model) ? 200 : 400)
    if (path === '/v2/repository/index') {
      const isOpen = !adminHeader || request.headers[adminHeader.name] === adminHeader.value
      return isOpen ? answer(200, index()) : answer(403, { error: 'This API is restricted' })
    }
    if (path === '/fake' && request.method === 'POST') change(JSON.parse(await text(request)) as Partial<Behaviour>)
    if (path === '/fake') return answer(200, { ...count, behaviour })
    answer(404, { error: 'no such path' })
  }

  function answerMetrics(_request: IncomingMessage, response: ServerResponse): void {
    const [first] = known.keys()
    const labels = `{model="${first ?? ''}",version="1"}`
    response.end(
      [
        `nv_inference_request_success${labels} ${count.done}`,
        `nv_inference_request_failure${labels} ${count.failed}`,
        `nv_inference_pending_request_count${labels} ${count.inFlight}`,
        '',
      ].join('\n'),
    )
  }

  function change(changes: Partial<Behaviour>): void {
    behaviour = { ...behaviour, ...changes }
    if (!behaviour.freezes) for (const resolve of thawed.splice(0)) resolve()
  }

  const http = createServer((request, response) => {
    void answerHttp(request, response).catch(() => response.destroy())
  })
  const metrics = createServer(answerMetrics)
  const sockets = trackSockets(http, metrics)
  // gRPC can stop listening on a port that was named to it only.
  const grpcPort = ports.grpc || (await freePorts(1))[0] || 0
  await bind(server, `${host}:${grpcPort}`)
  await Promise.all([listen(http, host, ports.http), listen(metrics, host, ports.metrics)])

  async function end(): Promise<void> {
    server.forceShutdown()
    for (const socket of sockets) socket.destroy()
    await Promise.all([http, metrics].map((each) => new Promise((resolve) => each.close(resolve))))
  }

  return {
    address: `${host}:${grpcPort}`,
    httpUrl: `http://${host}:${portOf(http)}`,
    metricsUrl: `http://${host}:${portOf(metrics)}/metrics`,
    change,
    counts: () => ({ ...count }),
    kill: end,
    stop: async () => {
      isStopping = true
      server.unbind(`${host}:${grpcPort}`)
      const limit = manner === 'refuse' ? performance.now() + exitTimeoutMs : Number.POSITIVE_INFINITY
      while (streams.size > 0 && performance.now() < limit) await pause(10)
      await end()
    },
  }
}

const status = (code: grpc.status, details: string) => Object.assign(new Error(details), { code, details })
const unavailable = (details: string) => status(grpc.status.UNAVAILABLE, details)

function bind(server: grpc.Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()))
  })
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

function trackSockets(...servers: readonly Server[]): Set<Socket> {
  const open = new Set<Socket>()
  for (const server of servers) {
    server.on('connection', (socket: Socket) => {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    })
  }
  return open
}
