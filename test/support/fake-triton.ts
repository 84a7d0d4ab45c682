// A Triton without inference: real gRPC and HTTP, Triton's protocol, readiness and shutdown, and an elliptic mask after
// a configured time per instance. Tests use it to count, stop and break dozens of pods; tests of the server's own
// behaviour use the real one. It runs in this process or as a pod (test/e2e/fake-triton).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import * as grpc from '@grpc/grpc-js'
import { type InferRequest, loadTriton, type StreamResponse } from '@matte/controller/worker/triton/triton-protocol'
import { createModel, type FakeModel, type Model } from './fake-model.ts'
import { freePorts } from './free-ports.ts'

/** Settings that can change at run time. */
export type Behaviour = {
  /** Time of one request in an instance, in milliseconds. */
  readonly serviceMs: number
  /** Each request takes up to this share more or less, evenly distributed, 0 to 1. */
  readonly serviceSpread: number
  /** Share of inferences that fail, 0 to 1, evenly spread. */
  readonly errorRate: number
  /** Accepts inferences and never responds to them; all other calls work. */
  readonly stalls: boolean
  /** Responds to nothing, like a stopped process. */
  readonly freezes: boolean
  /** Tensors of the model differ from those that the controller sends. */
  readonly hasWrongShapes: boolean
  readonly isReady: boolean
}

export type FakeOptions = {
  readonly models?: readonly FakeModel[]
  readonly behaviour?: Partial<Behaviour>
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: free ports. */
  readonly ports?: { readonly grpc: number; readonly http: number; readonly metrics: number }
  /** How long a stop waits for open calls. */
  readonly exitTimeoutMs?: number
  /**
   * Behaviour after SIGTERM. `refuse` (Triton 25.05 and later): new calls and new messages on open streams get
   * UNAVAILABLE, and open streams have the exit timeout. `serve` (earlier): connected clients are served, and the
   * server waits for open streams until the timeout, used or not.
   */
  readonly stopping?: 'refuse' | 'serve'
  /** Like `--grpc-restricted-protocol`: the header that allows access to the repository index. */
  readonly adminHeader?: { readonly name: string; readonly value: string }
  readonly keepalive?: grpc.ServerOptions
}

export type Fake = {
  /** `host:port` of its gRPC server. */
  readonly address: string
  readonly httpUrl: string
  readonly metricsUrl: string
  change(behaviour: Partial<Behaviour>): void
  counts(): Counts
  /** Stops like SIGTERM; returns when stopped. */
  stop(): Promise<void>
  /** Stops at once and cuts connections. */
  kill(): Promise<void>
}

export type Counts = {
  /** Inferences requested, answered with a mask, failed, and in flight (queued or processed). */
  readonly asked: number
  readonly done: number
  readonly failed: number
  readonly inFlight: number
  /** Maximum in flight at one time. */
  readonly inFlightMax: number
  /** Streams whose caller canceled its request. */
  readonly cancelled: number
  /** Number of readiness requests for its model. */
  readonly probed: number
}

type Stream = grpc.ServerDuplexStream<InferRequest, StreamResponse>
type Call<Request> = grpc.ServerUnaryCall<Request, unknown>
type Done = grpc.sendUnaryData<unknown>

const calm: Behaviour = {
  serviceMs: 20,
  serviceSpread: 0,
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
  /** With strict readiness, one model that did not load keeps the whole server unready. */
  const isReady = (): boolean => !isStopping && [...known.keys()].every(isServing)
  const untilThawed = (): Promise<void> =>
    behaviour.freezes ? new Promise((resolve) => thawed.push(resolve)) : Promise.resolve()

  /** Runs a method unless the server is frozen; fails while the server refuses calls. */
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
        // Triton also checks for cancellation before it begins.
        const { serviceMs, serviceSpread } = behaviour
        if (!stream.cancelled) await pause(serviceMs * (1 + serviceSpread * (2 * Math.random() - 1)))
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
      // Responses on a stream are in the order of its requests.
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
    'grpc.max_receive_message_length': 64 * 1_048_576,
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
  // gRPC can stop listening only on a port that it was given by name.
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
