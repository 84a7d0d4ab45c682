import { once } from 'node:events'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import * as grpc from '@grpc/grpc-js'
import { propagation, type TextMapPropagator } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import type { InferInput } from './infer-stream.ts'
import { connectTriton, type TritonClient } from './triton-client.ts'
import { type InferRequest, loadTriton, type StreamResponse } from './triton-protocol.ts'

type Stream = grpc.ServerDuplexStream<InferRequest, StreamResponse>
type Answer = (request: InferRequest, stream: Stream) => void

const size = 4
const image = Buffer.alloc(size * size * 3, 9)
const mask = Buffer.alloc(size * size, 200)
const Stub = loadTriton()

let cleanUp: (() => void)[] = []
afterEach(() => {
  for (const act of cleanUp) act()
  cleanUp = []
})

const shape: object = { max_batch_size: 8, instance_group: [{ count: 2 }, { count: 1 }] }

/** A gRPC server with Triton's protocol and scripted behaviour; other tests use the real server. */
async function given(
  answer: Answer,
  {
    outputShape = [-1, size, size],
    ready = true,
    config = shape,
  }: { outputShape?: number[]; ready?: boolean | 'silent'; config?: object } = {},
) {
  const streams: Stream[] = []
  const asked = Promise.withResolvers<void>()
  const server = new grpc.Server()
  server.addService((Stub as unknown as { service: grpc.ServiceDefinition }).service, {
    ModelReady: (_call: unknown, done: grpc.sendUnaryData<unknown>) => {
      asked.resolve()
      if (ready !== 'silent') done(null, { ready })
    },
    ModelMetadata: (_call: unknown, done: grpc.sendUnaryData<unknown>) =>
      done(null, {
        inputs: [{ name: 'image', datatype: 'UINT8', shape: [-1, size, size, 3] }],
        outputs: [{ name: 'alpha', datatype: 'UINT8', shape: outputShape }],
      }),
    ModelConfig: (_call: unknown, done: grpc.sendUnaryData<unknown>) => done(null, { config }),
    ModelStreamInfer: (stream: Stream) => {
      streams.push(stream)
      stream.on('data', (request: InferRequest) => answer(request, stream))
      stream.on('end', () => stream.end())
      stream.on('error', () => undefined)
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    )
  })
  const client = connectTriton(Stub, `127.0.0.1:${port}`)
  cleanUp.push(
    () => client.close(),
    () => server.forceShutdown(),
  )
  return { client, port, streams, server, asked: asked.promise }
}

const ask = (client: TritonClient, changes: Partial<InferInput> = {}): Promise<Buffer> =>
  client.infer({
    model: 'u2netp',
    id: 'task/1/claim',
    image,
    size,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...changes,
  })

const answerWith = (id: string, bytes: Buffer): StreamResponse => ({
  infer_response: { id, outputs: [], raw_output_contents: [bytes] },
})

const echo: Answer = ({ id }, stream) => void stream.write(answerWith(id, mask))

describe('connectTriton', () => {
  it('sends raw bytes and returns the mask', async () => {
    const seen: InferRequest[] = []
    const { client } = await given((request, stream) => {
      seen.push(request)
      echo(request, stream)
    })
    expect(await ask(client)).toEqual(mask)
    expect(seen[0]?.raw_input_contents[0]).toEqual(image)
    expect(seen[0]).toMatchObject({ model_name: 'u2netp', inputs: [{ datatype: 'UINT8' }] })
  })

  it('refuses an answer larger than any mask', async () => {
    const { client } = await given(({ id }, stream) => void stream.write(answerWith(id, Buffer.alloc(6 * 1_048_576))))
    await expect(ask(client)).rejects.toThrow('larger than max')
  })

  it('reuses a stream, and opens one per request in flight', async () => {
    const waiting: (() => void)[] = []
    const { client, streams } = await given((request, stream) => {
      waiting.push(() => echo(request, stream))
      if (waiting.length >= 2) for (const act of waiting) act()
    })
    await Promise.all([ask(client), ask(client)])
    await Promise.all([ask(client), ask(client)])
    expect(streams).toHaveLength(2)
  })

  it('sends the trace of each request, also after an untraced one', async () => {
    let trace: string | undefined
    const inject: TextMapPropagator['inject'] = (_context, carrier) => {
      if (trace !== undefined) Object.assign(carrier as object, { traceparent: trace })
    }
    propagation.setGlobalPropagator({ inject, extract: (context) => context, fields: () => [] })
    cleanUp.push(() => propagation.disable())
    const { client, streams } = await given(echo)
    for (const next of [undefined, '00-aa-01-01', '00-bb-02-01', undefined]) {
      trace = next
      expect(await ask(client)).toEqual(mask)
    }
    const sent = streams.map(({ metadata }) => metadata.get('traceparent')[0])
    expect(sent).toEqual([undefined, '00-aa-01-01', '00-bb-02-01']) // the last went over the first stream
  })

  it('treats an error inside a message as a failure and keeps the stream', async () => {
    const { client, streams } = await given((request, stream) =>
      request.id === 'bad' ? stream.write({ error_message: 'onnx runtime error: no' }) : echo(request, stream),
    )
    await expect(ask(client, { id: 'bad' })).rejects.toMatchObject({ name: 'InferenceError', kind: 'failed' })
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(1)
  })

  it.each([
    [grpc.status.UNAVAILABLE, 'unavailable'],
    [grpc.status.NOT_FOUND, 'unavailable'],
    [grpc.status.INVALID_ARGUMENT, 'failed'],
    [grpc.status.INTERNAL, 'failed'],
    [grpc.status.DEADLINE_EXCEEDED, 'timeout'],
  ])('maps gRPC status %i to %s, and opens another stream', async (code, kind) => {
    const { client, streams } = await given((request, stream) =>
      request.id === 'bad' ? stream.emit('error', { code, details: 'no' }) : echo(request, stream),
    )
    await expect(ask(client, { id: 'bad' })).rejects.toMatchObject({ kind })
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(2)
  })

  it('reports unavailable for an unknown model in an error without a code', async () => {
    const { client } = await given((_request, stream) => {
      stream.write({ error_message: "Request for unknown model: 'u2netp' is not found" })
    })
    await expect(ask(client)).rejects.toMatchObject({ kind: 'unavailable' })
  })

  it('reports unavailable when the server goes away', async () => {
    const { client, server } = await given(() => server.forceShutdown())
    await expect(ask(client)).rejects.toMatchObject({ kind: 'unavailable' })
  })

  it('retries after an idle stream died', async () => {
    const { client, streams } = await given(echo)
    await ask(client)
    streams[0]?.emit('error', { code: grpc.status.UNAVAILABLE, details: 'no' })
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(2)
  })

  it('ends an idle stream, because a stopping server would wait for it', async () => {
    const { client, streams } = await given(echo)
    await ask(client)
    await new Promise((resolve) => streams[0]?.on('end', resolve))
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(2)
  })

  it('times out, cancels the stream, and continues with another', async () => {
    const { client, streams } = await given((request, stream) => {
      if (request.id !== 'slow') echo(request, stream)
    })
    await expect(ask(client, { id: 'slow', timeoutMs: 50 })).rejects.toMatchObject({ kind: 'timeout' })
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(2)
  })

  it('ends a request when its signal aborts, also beforehand', async () => {
    const stop = new AbortController()
    const { client } = await given(() => stop.abort())
    await expect(ask(client, { signal: stop.signal })).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(ask(client, { signal: stop.signal })).rejects.toMatchObject({ kind: 'unavailable' })
  })

  it.each([
    ['of another request', answerWith('other', mask)],
    ['of another size', answerWith('task/1/claim', mask.subarray(1))],
  ])('refuses an answer %s', async (_name, answer) => {
    const { client } = await given((_request, stream) => void stream.write(answer))
    await expect(ask(client)).rejects.toMatchObject({ kind: 'failed' })
  })
})

describe('a connection that breaks under a request', () => {
  /** HTTP/2 without gRPC semantics: the stream ends with this code and no status. */
  async function askOneThatEndsWith(code: number): Promise<unknown> {
    const server = http2.createServer()
    server.on('stream', (stream) => {
      stream.on('error', () => undefined)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
      stream.close(code)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectTriton(Stub, `127.0.0.1:${(server.address() as AddressInfo).port}`)
    cleanUp.push(
      () => client.close(),
      () => server.close(),
    )
    return ask(client).catch((error: unknown) => error)
  }
  const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = http2.constants

  it.each([
    NGHTTP2_NO_ERROR,
    NGHTTP2_INTERNAL_ERROR,
    NGHTTP2_PROTOCOL_ERROR,
    NGHTTP2_REFUSED_STREAM,
    http2.constants.NGHTTP2_CANCEL,
    http2.constants.NGHTTP2_ENHANCE_YOUR_CALM,
  ])('means an unavailable pod, not a failed image: reset with code %d', async (code) => {
    expect(await askOneThatEndsWith(code)).toMatchObject({ kind: 'unavailable' })
  })
})

describe('a retired client', () => {
  it('rejects requests, and ends its stream after the last answer', async () => {
    const asked = Promise.withResolvers<() => void>()
    const { client, streams } = await given((request, stream) => asked.resolve(() => echo(request, stream)))
    const first = ask(client)
    const answer = await asked.promise
    client.retire()
    await expect(ask(client)).rejects.toMatchObject({ kind: 'unavailable' })
    const [stream] = streams
    const ended = stream && once(stream, 'end')
    answer()
    expect(await first).toEqual(mask)
    await ended
  })

  it('waits for a request that is still connecting', async () => {
    const { port } = await given(echo)
    const held: net.Socket[] = []
    const gate = net.createServer((near) => held.push(near))
    gate.listen(0, '127.0.0.1')
    await once(gate, 'listening')
    const client = connectTriton(Stub, `127.0.0.1:${(gate.address() as AddressInfo).port}`)
    cleanUp.push(
      () => client.close(),
      () => gate.close(),
    )
    const first = ask(client)
    const [near] = (await once(gate, 'connection')) as [net.Socket]
    client.retire()
    const far = net.connect(port, '127.0.0.1')
    near.pipe(far).pipe(near)
    expect(await first).toEqual(mask)
  })

  it('ends idle streams at once when asked to', async () => {
    const { client, streams } = await given(echo)
    await ask(client)
    const [stream] = streams
    const ended = stream && once(stream, 'end')
    client.endIdleStreams()
    await ended
    expect(await ask(client)).toEqual(mask)
    expect(streams).toHaveLength(2)
  })
})

describe('isReady', () => {
  it('ends at once when the client closes', async () => {
    const { client, asked } = await given(echo, { ready: 'silent' })
    const answer = client.isReady('u2netp')
    await asked
    client.close()
    expect(await answer).toBe('unready') // at the deadline it would be `silent`
    expect(await client.readyModel('u2netp')).toBeUndefined()
  })

  it('distinguishes an unready or absent pod from one that does not answer in time', async () => {
    const silent = net.createServer((socket) => socket.on('error', () => undefined))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const hung = connectTriton(Stub, `127.0.0.1:${(silent.address() as AddressInfo).port}`)
    cleanUp.push(
      () => hung.close(),
      () => silent.close(),
    )
    const { client, server } = await given(echo, { ready: false })
    expect(await client.isReady('u2netp')).toBe('unready')
    server.forceShutdown()
    expect(await client.isReady('u2netp')).toBe('unready')
    expect(await hung.isReady('u2netp')).toBe('silent')
  })
})

describe('readyModel', () => {
  it('reads size and slots from the model', async () => {
    const { client } = await given(echo)
    expect(await client.readyModel('u2netp')).toEqual({ inputSize: size, slots: 3, views: 1 })
  })

  it('is undefined while the model is not ready or the pod does not answer', async () => {
    const { client, server } = await given(echo, { ready: false })
    expect(await client.readyModel('u2netp')).toBeUndefined()
    server.forceShutdown()
    expect(await client.readyModel('u2netp')).toBeUndefined()
  })

  it('refuses a model with other tensors, and names both', async () => {
    const { client } = await given(echo, { outputShape: [-1, 1, size, size] })
    const error = await client.readyModel('u2netp').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'failed' })
    expect(String(error)).toContain('give alpha UINT8 [N,S,S]')
    expect(String(error)).toContain('alpha UINT8 [-1,1,4,4]')
  })

  it.each([
    [{ max_batch_size: 8, instance_group: [{ count: 2 }, { count: 1 }] }, 3],
    [{ max_batch_size: 8, instance_group: [{ count: 2, gpus: [0, 1] }] }, 4],
    [{ max_batch_size: 8, instance_group: [{ count: 1 }], dynamic_batching: { preferred_batch_size: [2, 4] } }, 4],
    [{ max_batch_size: 8, instance_group: [{ count: 2 }], dynamic_batching: {} }, 16],
    [{}, 1],
  ])('takes instances × preferred batch for slots: %j', async (config, slots) => {
    const { client } = await given(echo, { config })
    expect(await client.readyModel('u2netp')).toEqual({ inputSize: size, slots, views: 1 })
  })
})
