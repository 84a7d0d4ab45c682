// What a pod says of its models: whether they can infer now, and what they take. Every question has a deadline.
import type * as grpc from '@grpc/grpc-js'
import { errorOfStatus, InferenceError } from './inference-error.ts'
import { type ModelShape, readModelShape } from './model-shape.ts'
import type { TritonStub } from './triton-protocol.ts'

/** `unready`: it says so, or nobody is there; `silent`: no answer in time, as of a pod that hangs or is very busy. */
export type Readiness = 'ready' | 'unready' | 'silent'

/** A probe must be quicker than its period; a pod that takes longer is not one to send requests to. */
const probeMs = 2_000

/** `signal` ends the questions that are on their way: a closed channel lets them go on to their deadline. */
type Probing = { readonly stub: TritonStub; readonly signal: AbortSignal }

export async function probeReadiness(probing: Probing, model: string): Promise<Readiness> {
  try {
    const { ready = false } = await ask(probing, 'ModelReady', model)
    return ready ? 'ready' : 'unready'
  } catch (error) {
    return error instanceof InferenceError && error.kind === 'timeout' ? 'silent' : 'unready'
  }
}

/** The model's shape once it is ready, else undefined. @throws InferenceError failed: wrong shapes. */
export async function probeShape(probing: Probing, model: string): Promise<ModelShape | undefined> {
  if ((await probeReadiness(probing, model)) !== 'ready') return undefined
  const answers = await Promise.all([ask(probing, 'ModelMetadata', model), ask(probing, 'ModelConfig', model)]).catch(
    () => undefined, // ready a moment ago, and gone meanwhile
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
