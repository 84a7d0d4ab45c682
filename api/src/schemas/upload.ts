import { Type } from 'typebox'
import { named, time } from './schema.ts'

/** The upload grant of the interface and further fields, which clients of the interface ignore. */
export const uploadGrantSchema = named(
  'UploadGrant',
  {
    uploadUrl: Type.String({ format: 'uri', description: 'PUT the raw bytes here.' }),
    objectKey: Type.String({ description: 'Pass it as `imageUrl` when you create the task.' }),
    method: Type.Unsafe<'PUT'>({ type: 'string', enum: ['PUT'] }),
    headers: Type.Object(
      {
        'Content-Type': Type.String(),
        'Content-Length': Type.Optional(
          Type.String({
            description: 'The given `fileSize`, if the URL signs it. HTTP clients send this header by themselves.',
          }),
        ),
      },
      { description: 'Headers that the PUT must send.' },
    ),
    expiresAt: time('Expiry of the URL.'),
    maxFileSize: Type.Integer({ description: 'Maximum file size of your plan in bytes, inclusive.' }),
  },
  {
    uploadUrl: 'https://matte.example.com/matte/private-uploads/2026/11/9b2d7a54-cat.jpg?X-Amz-Signature=0f1e2d',
    objectKey: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
    method: 'PUT',
    headers: { 'Content-Type': 'image/jpeg', 'Content-Length': '482133' },
    expiresAt: '2026-11-21T09:45:00.000Z',
    maxFileSize: 20_971_520,
  },
)

export const fetchedUploadSchema = named(
  'FetchedUpload',
  {
    objectKey: Type.String({ description: 'Pass it as `imageUrl` when you create the task.' }),
    contentType: Type.String({ description: 'By the first bytes: image/png, image/jpeg or image/webp.' }),
    fileSize: Type.Integer({ minimum: 1, description: 'Bytes.' }),
  },
  {
    objectKey: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
    contentType: 'image/jpeg',
    fileSize: 482_133,
  },
)
