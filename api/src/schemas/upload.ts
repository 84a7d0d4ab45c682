import { Type } from 'typebox'
import { named } from './schema.ts'

/** The upload grant of the interface with the further fields of D20. */
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
          Type.String({ description: 'Where the service signs lengths: the `fileSize` that you gave.' }),
        ),
      },
      { description: 'What the PUT must send.' },
    ),
    expiresAt: Type.String({ format: 'date-time', description: 'Until when the URL takes the PUT.' }),
    maxFileSize: Type.Integer({ description: 'Bytes that your plan takes, inclusive.' }),
  },
  {
    examples: [
      {
        uploadUrl: 'https://matte.example.com/matte/private-uploads/2026/11/9b2d7a54-cat.jpg?X-Amz-Signature=0f1e2d',
        objectKey: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
        method: 'PUT',
        headers: { 'Content-Type': 'image/jpeg' },
        expiresAt: '2026-11-21T09:45:00.000Z',
        maxFileSize: 20_971_520,
      },
    ],
  },
)
