import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'

/** Leaves bodies in their stream, for image-body.ts. */
export async function readBodiesInHandlers(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // A file above the limit is cut; its length then shows that it is too large.
  await app.register(multipart, { throwFileSizeLimit: false })
}
