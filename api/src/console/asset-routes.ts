import { MatteError } from '@matte/core/error'
import type { FastifyPluginAsync } from 'fastify'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

type AssetDeps = { readonly files: ConsoleFiles }

/** A build gives changed files new names; others, such as the icon, have no hash in their name. */
const hashedName = /-[\w-]{8}\.\w+$/

const cacheOf = (path: string): string =>
  hashedName.test(path) ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'

export const assetRoutes: FastifyPluginAsync<AssetDeps> = async (app, { files }) => {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false, quiet: true } } as const
  app.get<{ Params: { '*': string } }>('/assets/*', options, async (request, reply) => {
    const path = `assets/${request.params['*']}`
    const file = files.get(path)
    if (file === undefined) throw new MatteError('NOT_FOUND', 'There is no such file. Reload the page.')
    reply.headers({ etag: file.etag, 'cache-control': cacheOf(path), vary: 'accept-encoding' })
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    const { body, encoding } = choose(file, request.headers['accept-encoding'] ?? '')
    if (encoding !== undefined) reply.header('content-encoding', encoding)
    return reply.type(file.type).send(body)
  })
}

function choose({ body, variants }: ConsoleFile, accepted: string) {
  const names = accepted.split(',').map((entry) => entry.trim())
  const variant = variants.find(({ encoding }) => names.some((name) => name === encoding || isWeighted(name, encoding)))
  return variant ?? { body, encoding: undefined }
}

/** Such as `br;q=0.9`; weight 0 refuses. */
const isWeighted = (entry: string, encoding: string): boolean =>
  entry.startsWith(`${encoding};`) && !/;\s*q=0(\.0*)?$/.test(entry)
