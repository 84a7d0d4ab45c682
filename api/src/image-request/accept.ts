import type { FastifyRequest } from 'fastify'

/** Whether the client wants JSON in place of an image, by the header Accept; images are the default. */
export function prefersJson({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const accept = (headers.accept ?? '').toLowerCase()
  const json = accept.indexOf('application/json')
  const image = accept.indexOf('image/')
  return json >= 0 && (image < 0 || json < image)
}
