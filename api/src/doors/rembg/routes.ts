// `GET|POST /api/remove` as `rembg s` has it, for clients in the configured networks.
import { MatteError } from '@matte/core/error'
import { defaultModelVersion } from '@matte/core/model/model-queries'
import { isInputFailure } from '@matte/core/task/failure'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { type ImageForm, imageBody } from '../../image-request/image-body.ts'
import { readBodiesInHandlers } from '../../image-request/raw-bodies.ts'
import { cutOut, cutOutUrl, type DoorDeps, type Outcome } from '../cut-out.ts'
import type { RembgModelTable } from '../settings.ts'
import { lateWords, taskHeader } from '../words.ts'
import { invalidFields, rembgErrorHandler } from './errors.ts'
import { missing, type RembgFields, readFields } from './fields.ts'

type RembgDeps = DoorDeps & { readonly table: RembgModelTable }

export const rembgRoutes: FastifyPluginAsync<RembgDeps> = async (app, deps) => {
  await readBodiesInHandlers(app)
  app.setErrorHandler(rembgErrorHandler(deps.metrics.countError))
  const common = { access: 'network', door: true, envelope: false } as const
  const config = { ...common, rawBody: imageBody(deps.imageBytesMax) }
  const modelOf = ({ model }: RembgFields): string => deps.table[model] ?? defaultModelVersion

  app.post('/api/remove', { schema: { hide: true }, config }, async (request, reply) => {
    const query = textsOf(request.query)
    const read = (form: ImageForm) => {
      const fields = checked(readFields({ place: 'body', fields: form.fields, query }))
      return { image: imageOf(form), modelVersion: modelOf(fields), output: fields.output }
    }
    const { outcome } = await cutOut(deps, { request, reply }, { read })
    return send(reply, outcome)
  })

  app.get('/api/remove', { schema: { hide: true }, config: common }, async (request, reply) => {
    const query = textsOf(request.query)
    const url = query.get('url')
    if (url === undefined) throw invalidFields([missing('query', 'url')])
    const fields = checked(readFields({ place: 'query', fields: query, query }))
    const wanted = { image: { url, path: '/query/url' }, modelVersion: modelOf(fields), output: fields.output }
    return send(reply, await cutOutUrl(deps, { request, reply }, wanted))
  })
}

/** @throws MatteError INVALID_PARAMS */
function checked(fields: ReturnType<typeof readFields>): RembgFields {
  if ('model' in fields) return fields
  throw invalidFields(fields)
}

function imageOf({ files }: ImageForm) {
  const image = files.get('file')
  if (image === undefined) throw invalidFields([missing('body', 'file')])
  return image
}

/** Repeated parameters: the last one counts, as in FastAPI. */
const textsOf = (query: unknown): Map<string, string> =>
  new Map(
    Object.entries(query as Record<string, string | string[]>).map(([name, value]) => [
      name,
      [value].flat().at(-1) ?? '',
    ]),
  )

function send(reply: FastifyReply, outcome: Outcome): FastifyReply {
  if (outcome.kind === 'late') {
    const headers = { 'retry-after': 1, ...taskHeader(outcome.taskId) }
    return reply
      .code(504)
      .headers(headers)
      .send({ detail: lateWords(outcome.taskId) })
  }
  if (outcome.kind === 'unknown') throw new Error('a task of this door is charged without a subject too')
  if (outcome.kind === 'failed') throw failureOf(outcome)
  const { body, lengthBytes } = outcome.image
  return reply.headers({ 'content-type': 'image/png', 'content-length': lengthBytes }).send(body)
}

function failureOf({ reason, message }: Extract<Outcome, { kind: 'failed' }>): MatteError {
  if (isInputFailure(reason)) return new MatteError('TASK_FORMAT_NOT_SUPPORTED', message)
  return new MatteError('SYSTEM_INTERNAL_ERROR', message)
}
