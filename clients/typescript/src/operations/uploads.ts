import type { Transport } from '../http/transport.ts'
import { openInput } from '../input/input.ts'
import type { CallOptions, ImageInput, UploadOptions } from '../options.ts'
import type { FetchedUpload, UploadGrant, UploadRequest } from '../schema.ts'
import { upload } from '../upload/upload.ts'

export const createUploadOperations = (transport: Transport) => ({
  create: (body: UploadRequest, options?: CallOptions): Promise<UploadGrant> =>
    transport.request('POST', '/open/developer/uploads/presign', { ...options, body }),

  /** Lets the service download an image by its URL, if the installation allows it. `objectKey` as for `put`. */
  fetch: (url: string, options?: CallOptions): Promise<FetchedUpload> =>
    transport.request('POST', '/open/developer/uploads/fetch', { ...options, body: { url } }),

  /** Uploads an image for `tasks.create` or `batches.create`. Its `objectKey` becomes their `imageUrl`. */
  put: async (input: ImageInput, options: UploadOptions = {}): Promise<{ objectKey: string }> =>
    upload(transport, await openInput(transport, input, options), options),
})
