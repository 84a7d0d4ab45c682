import { MatteError } from '@matte/core/error'
import type { FastifyPluginAsync } from 'fastify'
import { sendFile } from '../site/send-file.ts'
import type { CurrentBuild } from './console-build.ts'

type AssetDeps = { readonly build: CurrentBuild }

export const assetRoutes: FastifyPluginAsync<AssetDeps> = async (app, { build }) => {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false, quiet: true } } as const
  app.get<{ Params: { '*': string } }>('/assets/*', options, async (request, reply) => {
    const file = build().files.get(`assets/${request.params['*']}`)
    if (file === undefined) throw new MatteError('NOT_FOUND', 'There is no such file. Reload the page.')
    return sendFile(file, request, reply)
  })
}
