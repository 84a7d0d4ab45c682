import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { createGrant } from '@matte/core/upload/create-grant'
import { Type } from 'typebox'
import { nullable, refer, success } from '../../schemas/schema.ts'
import { uploadGrantSchema } from '../../schemas/upload.ts'
import type { Front } from './front.ts'

export type UploadDeps = {
  readonly db: Db
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  /** The URL takes a file of the length that was given, and of no other (D21). */
  readonly signLength: boolean
  readonly front: Front
}

const presignSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('presignUpload'),
  summary: 'Get a presigned URL for one upload',
  description:
    'Unused uploads are bounded: past the bound this answers RATE_LIMIT_EXCEEDED with `details.limit: "uploads"`, ' +
    'until tasks use some or `details.resetsAt`.',
  tags: tags.uploads,
  body: Type.Object(
    {
      fileName: Type.String({ minLength: 1, maxLength: 1_024, description: 'Ends up in the object key.' }),
      contentType: Type.String({ minLength: 1, description: 'image/png, image/jpeg or image/webp.' }),
      fileSize: Type.Optional(
        nullable(Type.Integer({ minimum: 1, description: 'Bytes; given, it is checked against your plan.' })),
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

export const uploadRoutes: FastifyPluginAsyncTypebox<UploadDeps> = async (
  app,
  { db, bucket, probe, signLength, front },
) => {
  app.post(
    '/uploads/presign',
    { schema: presignSchema(front), config: { access: front.access.upload } },
    async (request) => {
      const { workspaceId, planLimits } = request.caller
      if (probe.isDown()) throw new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is down; try again.')
      const { fileName, contentType, fileSize } = request.body
      const wanted = { fileName, contentType, fileSize: fileSize ?? undefined, signLength }
      const grant = await createGrant(db, bucket, { workspaceId, plan: planLimits, ...wanted })
      return {
        uploadUrl: grant.uploadUrl,
        objectKey: grant.objectKey,
        method: 'PUT' as const,
        headers: grant.headers,
        expiresAt: grant.expiresAt.toISOString(),
        maxFileSize: grant.maxFileSizeBytes,
      }
    },
  )
}
