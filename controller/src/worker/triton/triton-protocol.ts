import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/** Messages as the loader returns them with `keepCase`; tensors are raw bytes. */
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
/** The loader omits empty lists. */
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

export function loadTriton(): TritonStubClass {
  const file = fileURLToPath(import.meta.resolve('@matte/protos/triton/grpc_service.proto'))
  const definition = loadSync(file, { keepCase: true, longs: Number, enums: String, defaults: false, oneofs: false })
  const { inference } = grpc.loadPackageDefinition(definition) as unknown as {
    inference: { GRPCInferenceService: TritonStubClass }
  }
  return inference.GRPCInferenceService
}

export const channelOptions: grpc.ClientOptions = {
  // The largest mask, inputSizeMax of model-shape.ts, and what is around it; the default is below that.
  'grpc.max_receive_message_length': 5 * 1_048_576,
  // The HTTP/2 default of 64 KiB stalls a 300 kB request for several round trips.
  'grpc-node.flow_control_window': 8 * 1_048_576,
  // A shared subchannel would outlive the pod.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.min_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.enable_retries': 0,
  // Debug bookkeeping per call, unused.
  'grpc.enable_channelz': 0,
}
