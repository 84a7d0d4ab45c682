// Model states from Triton's repository index, an admin protocol that the pod's arguments restrict by a key.
import * as grpc from '@grpc/grpc-js'
import type { TritonStubClass } from './triton-protocol.ts'

export type IndexedModel = { readonly name: string; readonly state?: string; readonly reason?: string }

export type PodIndex =
  | { readonly kind: 'index'; readonly models: readonly IndexedModel[] }
  /** The server has no repository at its path. */
  | { readonly kind: 'refused'; readonly message: string }
  /** No answer yet: Triton opens its ports after loading its models. */
  | { readonly kind: 'silent' }

/** Header of Triton's admin protocols, with the pool's uid as value; only readers of the pool or its pods know that. */
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

/** Never rejects. Opens its own connection, because clients exist for ready pods only. */
export function readIndex(
  Stub: TritonStubClass,
  { address, poolUid }: { readonly address: string; readonly poolUid: string },
): Promise<PodIndex> {
  // Built from the proto at run time; TritonStub lists only the inference calls.
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
