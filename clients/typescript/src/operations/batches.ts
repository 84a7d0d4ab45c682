import type { Transport } from '../http/transport.ts'
import type { CallOptions } from '../options.ts'
import type { Batch, BatchQuery, BatchRequest, BatchSummary, Page } from '../schema.ts'
import { listing } from './listing.ts'

const root = '/open/developer/batch-tasks'

export const createBatchOperations = ({ request }: Transport) => ({
  /** Creates a task for each image, all or none. */
  create: (body: BatchRequest, options?: CallOptions): Promise<Batch> => request('POST', root, { ...options, body }),

  get: (id: string, options?: CallOptions): Promise<Batch> =>
    request('GET', `${root}/{id}`, { ...options, path: { id } }),

  list: (query: BatchQuery = {}, options?: CallOptions) =>
    listing((page) => request<Page<BatchSummary>>('GET', root, { ...options, query: page }), query),

  /** Cancels the tasks that are still queued. */
  cancel: (id: string, options?: CallOptions): Promise<Batch> =>
    request('DELETE', `${root}/{id}`, { ...options, path: { id } }),
})
