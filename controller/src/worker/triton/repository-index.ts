// What Triton says about each model of its repository, by an admin protocol that the pod's arguments restrict to a key.
import * as grpc from '@grpc/grpc-js'
import type { TritonStubClass } from './triton-protocol.ts'

/** One entry of RepositoryIndex; a model that was never loaded has no state. */
export type IndexedModel = { readonly name: string; readonly state?: string; readonly reason?: string }

export type PodIndex =
  | { readonly kind: 'index'; readonly models: readonly IndexedModel[] }
  /** It answers that it is not ready, because there is no repository at the path that it was given. */
  | { readonly kind: 'refused'; readonly message: string }
  /** No answer yet: Triton opens its ports after it has loaded its models. */
  | { readonly kind: 'silent' }

/**
 * Triton's administration (load, unload, trace, log, shared memory) requires a header with this name and the pool's
 * uid, which those know who may read the pool or its pods.
 */
export const adminKey = 'matte-controller'

const deadlineMs = 1_500

type IndexStub = grpc.Client & {
  RepositoryIndex(
    request: object,
    metadata: grpc.Metadata,
    options: { deadline: number },
    callback: (error: grpc.ServiceError | null, answer?: { models?: IndexedModel[] }) => void,
  ): grpc.ClientUnaryCall
}

/** Never rejects. Uses a connection of its own, since requests are only sent to ready pods. */
export function readIndex(
  Stub: TritonStubClass,
  { address, poolUid }: { readonly address: string; readonly poolUid: string },
): Promise<PodIndex> {
  // The stub is made of the protocol file at run time; TritonStub lists only what inference uses.
  const stub = new Stub(address, grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
  }) as unknown as IndexStub
  const metadata = new grpc.Metadata()
  metadata.set(`triton-grpc-protocol-${adminKey}`, poolUid)
  return new Promise<PodIndex>((resolve) => {
    stub.RepositoryIndex({}, metadata, { deadline: Date.now() + deadlineMs }, (error, answer) => {
      stub.close()
      if (error === null) {
        const models = (answer?.models ?? []).map(({ name, state, reason }) => ({
          name,
          ...(state && { state }),
          ...(reason && { reason }),
        }))
        resolve({ kind: 'index', models })
      } else if (/not ready/i.test(error.details)) resolve({ kind: 'refused', message: error.details })
      else resolve({ kind: 'silent' })
    })
  })
}
