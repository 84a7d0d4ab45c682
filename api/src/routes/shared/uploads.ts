import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { createGrant, type GrantDeps } from '@matte/core/upload/create-grant'
import { Type } from 'typebox'
import { type FetchUploadDeps, fetchUpload, goneSignal } from '../../fetch-upload.ts'
import { auditOf } from '../../http/audit.ts'
import { nullable, refer, success } from '../../schemas/schema.ts'
import { fetchedUploadSchema, uploadGrantSchema } from '../../schemas/upload.ts'
import type { ApiSurface, Operation, Responses } from './api-surface.ts'

export type UploadDeps = FetchUploadDeps &
  GrantDeps & {
    readonly surface: ApiSurface
    readonly bucket: Bucket
    readonly probe: Pick<StoreProbe, 'isDown'>
  }

const presignSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get a presigned URL for one upload',
  description:
    'With `fileSize` the URL accepts a file of exactly this size. Without it the URL accepts at most `maxFileSize` bytes, ' +
    'and the upload always passes through the API. The number and the bytes of unused uploads are limited; an upload ' +
    'without `fileSize` counts as the largest file of your plan. Past the limit this returns RATE_LIMIT_EXCEEDED with ' +
    '`details.limit: "uploads"`, until tasks use some or until `details.resetsAt`.',
  tags,
  body: Type.Object(
    {
      fileName: Type.String({ minLength: 1, maxLength: 1_024, description: 'Becomes part of the object key.' }),
      contentType: Type.String({ minLength: 1, description: 'image/png, image/jpeg or image/webp.' }),
      fileSize: Type.Optional(
        nullable(Type.Integer({ minimum: 1, description: 'Bytes of the file. Checked against your plan when given.' })),
      ),
    },
    { examples: [{ fileName: 'cat.jpg', contentType: 'image/jpeg', fileSize: 482_133 }] },
  ),
  response: responses(200, success('The grant.', refer(uploadGrantSchema)), [
    'TASK_FILE_SIZE_EXCEEDED',
    'TASK_FORMAT_NOT_SUPPORTED',
    'TASK_STORAGE_UNAVAILABLE',
  ]),
})

const fetchSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Upload an image by its URL',
  description:
    'The service downloads the image within 10 seconds from a public internet address, and follows up to three ' +
    'redirects. The same limits as for presigned uploads apply. Responds CONFLICT if the installation fetches no URLs.',
  tags,
  body: Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 2_048, description: 'http or https.' }),
    },
    { examples: [{ url: 'https://www.example.com/cat.jpg' }] },
  ),
  response: responses(200, success('The upload.', refer(fetchedUploadSchema)), [
    'TASK_FILE_SIZE_EXCEEDED',
    'TASK_FORMAT_NOT_SUPPORTED',
    'TASK_STORAGE_UNAVAILABLE',
    'CONFLICT',
  ]),
})

export const uploadRoutes: FastifyPluginAsyncTypebox<UploadDeps> = async (app, deps) => {
  const { probe } = deps
  const { responses, operations, auditsCreations } = deps.surface
  const { presignUpload, fetchUpload: byUrl } = operations

  const options = { schema: presignSchema(presignUpload, responses), config: { access: presignUpload.access } }
  app.post(presignUpload.url, options, async (request) => {
    const { workspaceId, planLimits, userId: createdBy, apiKeyId } = request.caller
    if (probe.isDown()) throw new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is down; try again.')
    const { fileName, contentType, fileSize } = request.body
    const wanted = { fileName, contentType, fileSize: fileSize ?? undefined }
    const maker = { createdBy, apiKeyId }
    const audit = auditsCreations ? auditOf(request) : undefined
    const grant = await createGrant(deps, { workspaceId, plan: planLimits, maker, audit, ...wanted })
    return {
      uploadUrl: grant.uploadUrl,
      objectKey: grant.objectKey,
      method: 'PUT' as const,
      headers: grant.headers,
      expiresAt: grant.expiresAt.toISOString(),
      maxFileSize: grant.maxFileSizeBytes,
    }
  })

  const fetchOptions = { schema: fetchSchema(byUrl, responses), config: { access: byUrl.access } }
  app.post(byUrl.url, fetchOptions, async (request, reply) => {
    if (probe.isDown()) throw new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is down; try again.')
    const audit = auditsCreations ? auditOf(request) : undefined
    return fetchUpload(deps, request, { url: request.body.url, path: '/body/url', gone: goneSignal(reply), audit })
  })
}
