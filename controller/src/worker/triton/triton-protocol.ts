import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/** The messages that we use, as the loader gives them with `keepCase`; raw bytes both ways, never typed contents. */
export type InferRequest = {
  model_name: string
  id: string
  inputs: { name: string; datatype: 'UINT8'; shape: number[] }[]
  outputs: { name: string }[]
  raw_input_contents: Uint8Array[]
}

export type InferResponse = {
  id: string
  outputs: { name: string; datatype: string; shape: (string | number)[] }[]
  raw_output_contents: Buffer[]
}

export type StreamResponse = { error_message?: string; infer_response?: InferResponse | null }

export type TensorMetadata = { name: string; datatype: string; shape: (string | number)[] }
/** Empty lists are left out by the loader. */
export type ModelMetadata = { inputs?: TensorMetadata[]; outputs?: TensorMetadata[] }
export type ModelConfig = {
  config?: {
    max_batch_size?: number
    instance_group?: { count?: number; gpus?: number[] }[]
    dynamic_batching?: { preferred_batch_size?: number[] } | null
    parameters?: Record<string, { string_value?: string }>
  }
}

type Unary<Response> = (
  request: { name: string },
  options: { deadline: number },
  callback: (error: grpc.ServiceError | null, response?: Response) => void,
) => grpc.ClientUnaryCall

export type TritonStub = grpc.Client & {
  ModelReady: Unary<{ ready?: boolean }>
  ModelMetadata: Unary<ModelMetadata>
  ModelConfig: Unary<ModelConfig>
  ModelStreamInfer(metadata: grpc.Metadata): grpc.ClientDuplexStream<InferRequest, StreamResponse>
}

export type TritonStubClass = new (
  address: string,
  credentials: grpc.ChannelCredentials,
  options: grpc.ClientOptions,
) => TritonStub

/** Loads the vendored protos, which takes a few milliseconds. */
export function loadTriton(): TritonStubClass {
  const file = fileURLToPath(import.meta.resolve('@matte/protos/triton/grpc_service.proto'))
  const definition = loadSync(file, { keepCase: true, longs: Number, enums: String, defaults: false, oneofs: false })
  const { inference } = grpc.loadPackageDefinition(definition) as unknown as {
    inference: { GRPCInferenceService: TritonStubClass }
  }
  return inference.GRPCInferenceService
}

/** Channel options, each for a reason; those of keepalive are in keepalive.ts. */
export const channelOptions: grpc.ClientOptions = {
  // The default refuses answers past 4 MiB; a 2048² mask with its envelope is more.
  'grpc.max_receive_message_length': 64 * 1_048_576,
  // The HTTP/2 default of 64 KiB stalls a 300 kB request for a round trip several times over.
  'grpc-node.flow_control_window': 8 * 1_048_576,
  // One channel per pod of our own: a shared subchannel would outlive the pod's removal.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.min_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.enable_retries': 0,
  // Its bookkeeping for debuggers is kept per connection and call, and is asked for by nobody.
  'grpc.enable_channelz': 0,
}
