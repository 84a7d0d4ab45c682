// Readiness and shape of a pod's models, with a deadline on every call.
import type * as grpc from '@grpc/grpc-js'
import { errorOfStatus, InferenceError } from './inference-error.ts'
import { type ModelShape, readModelShape } from './model-shape.ts'
import type { TritonStub } from './triton-protocol.ts'

/** `unready`: said by the pod, or no connection; `silent`: no answer in time. */
export type Readiness = 'ready' | 'unready' | 'silent'

/** Below the probe period. */
const probeMs = 2_000

/** `signal` cancels running calls, which closing a channel does not. */
type Probing = { readonly stub: TritonStub; readonly signal: AbortSignal }

export async function probeReadiness(probing: Probing, model: string): Promise<Readiness> {
  try {
    const { ready = false } = await ask(probing, 'ModelReady', model)
    return ready ? 'ready' : 'unready'
  } catch (error) {
    return error instanceof InferenceError && error.kind === 'timeout' ? 'silent' : 'unready'
  }
}

/** @throws InferenceError failed: unsupported shape */
export async function probeShape(probing: Probing, model: string): Promise<ModelShape | undefined> {
  if ((await probeReadiness(probing, model)) !== 'ready') return undefined
  const answers = await Promise.all([ask(probing, 'ModelMetadata', model), ask(probing, 'ModelConfig', model)]).catch(
    () => undefined, // no longer ready
  )
  return answers && readModelShape(model, ...answers)
}

type UnaryName = 'ModelReady' | 'ModelMetadata' | 'ModelConfig'
type UnaryResponse<N extends UnaryName> = Parameters<Parameters<TritonStub[N]>[2]>[1] & {}

function ask<N extends UnaryName>({ stub, signal }: Probing, method: N, name: string): Promise<UnaryResponse<N>> {
  return new Promise((resolve, reject) => {
    const call = stub[method](
      { name },
      { deadline: Date.now() + probeMs },
      (error: grpc.ServiceError | null, response?: unknown) => {
        signal.removeEventListener('abort', cancel)
        if (error) reject(errorOfStatus(error))
        else resolve(response as UnaryResponse<N>)
      },
    )
    const cancel = (): void => call.cancel()
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
  })
}
