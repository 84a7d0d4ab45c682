// Upload by a grant: the bytes go to the store, without the API key.
import { MatteError } from '../error.ts'
import { storeError } from '../http/answer-errors.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Transport } from '../http/transport.ts'
import type { UploadOptions } from '../options.ts'
import type { UploadGrant } from '../schema.ts'
import type { Source } from '../source.ts'
import { choosePut, type Put } from './put.ts'

export async function upload(
  transport: Transport,
  source: Source,
  { signal, onProgress }: Pick<UploadOptions, 'signal' | 'onProgress'>,
): Promise<{ objectKey: string }> {
  const { fileName, contentType, sizeBytes } = source
  const body = { fileName: fileName.slice(-255), contentType, fileSize: sizeBytes }
  const onLoaded = (loadedBytes: number) => onProgress?.({ state: 'uploading', loadedBytes, totalBytes: sizeBytes })
  const presign = () => transport.request<UploadGrant>('POST', '/open/developer/uploads/presign', { body, signal })
  const put = (grant: UploadGrant) => putRetrying(transport, { grant, source, onLoaded }, signal)
  onLoaded(0)
  const grant = await presign()
  try {
    await put(grant)
    return { objectKey: grant.objectKey }
  } catch (error) {
    // The grant expired during the retries.
    if (!(error instanceof MatteError) || error.status !== 403) throw error
    const fresh = await presign()
    await put(fresh)
    return { objectKey: fresh.objectKey }
  }
}

function putRetrying({ config, retrying }: Transport, put: Put, signal: AbortSignal | undefined): Promise<void> {
  const { sizeBytes } = put.source
  const { send, isWatched } = choosePut(config.hasOwnFetch)
  const timeoutMs = config.timeoutMs + (isWatched ? 0 : sizeBytes / bytesPerMsMin)
  const attempt = () =>
    withDeadline(timeoutMs, signal, async (deadline) => {
      const status = await send(put, deadline, config.fetch)
      if (status < 200 || status > 299) throw storeError('upload', status)
      put.onLoaded(sizeBytes)
    })
  return retrying(attempt, { url: put.grant.uploadUrl, signal })
}

/** Slowest upload that is waited for where its progress cannot be seen. */
const bytesPerMsMin = 16
