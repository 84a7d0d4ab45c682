// `POST /v1.0/removebg` and `GET /v1.0/account` as remove.bg has them. The header X-Api-Key carries a key of Matte.
import { readBalance } from '@matte/core/credit/balance'
import { MatteError } from '@matte/core/error'
import { defaultModelVersion } from '@matte/core/model/model-queries'
import { isInputFailure } from '@matte/core/task/failure'
import type { FastifyPluginAsync } from 'fastify'
import type { Exchange } from '../../limit/request-body.ts'
import { cutOut, type DoorDeps, type Outcome } from '../cut-out.ts'
import { type DoorForm, doorBody } from '../door-body.ts'
import type { DoorImage } from '../door-images.ts'
import { readBodiesInHandlers } from '../raw-bodies.ts'
import { lateWords, taskHeader } from '../words.ts'
import { type Shown, sendResult } from './answer.ts'
import { refusal, removebgErrorHandler } from './errors.ts'
import { readOptions } from './options.ts'

const common = { door: true, envelope: false } as const

/** Shown for a plan without charges, so programs that look for credits first continue. */
const unchargedCredits = 1_000_000

type RemovebgDeps = DoorDeps & {
  /** An image without a subject is refused and not charged. */
  readonly subjectsOnly: boolean
}

export const removebgRoutes: FastifyPluginAsync<RemovebgDeps> = async (app, deps) => {
  await readBodiesInHandlers(app)
  app.setErrorHandler(removebgErrorHandler(deps.metrics.countError))
  const schema = { hide: true }

  const config = { ...common, access: { scope: 'tasks:write' }, rawBody: doorBody(deps.imageBytesMax) } as const
  app.post('/v1.0/removebg', { schema, config }, async (request, reply) => {
    const read = (form: DoorForm) => ({
      ...readOptions(form),
      image: readImage(form),
      modelVersion: defaultModelVersion,
      subjectsOnly: deps.subjectsOnly,
    })
    const { asked, outcome } = await cutOut(deps, { request, reply }, read)
    return answer({ request, reply }, outcome, asked)
  })

  const accountConfig = { ...common, access: { scope: 'usage:read' } } as const
  app.get('/v1.0/account', { schema, config: accountConfig }, async ({ caller }) => {
    const { charged } = caller.planLimits
    const total = charged ? (await readBalance(deps.db, caller.workspaceId)).available : unchargedCredits
    const credits = { total, subscription: total, payg: 0, enterprise: 0 }
    return { data: { attributes: { credits, api: { free_calls: 0, sizes: 'all' } } } }
  })
}

/** @throws MatteError INVALID_PARAMS */
function readImage({ fields, files }: DoorForm): DoorImage {
  const file = files.get('image_file')
  const text = fields.get('image_file_b64') || undefined
  const url = fields.get('image_url') || undefined
  const sources = [file, text, url].filter((source) => source !== undefined)
  const known = 'image_file, image_file_b64 or image_url'
  if (sources.length === 0) throw refusal('missing_source', 'No image given', `Provide the image as ${known}.`)
  if (sources.length > 1) {
    throw refusal('multiple_sources', 'Multiple image sources given', 'Provide the image by one parameter only.')
  }
  if (file !== undefined) return file
  if (text !== undefined) return { fileName: 'image', bytes: decodeBase64(text) }
  return { url: url ?? '', path: '/body/image_url' }
}

/** With or without the prefix of a data URL. */
function decodeBase64(text: string): Buffer {
  const start = text.startsWith('data:') ? text.indexOf(',') + 1 : 0
  return Buffer.from(start === 0 ? text : text.slice(start), 'base64')
}

function answer(exchange: Exchange, outcome: Outcome, shown: Shown) {
  if (outcome.kind === 'succeeded') return sendResult(exchange, outcome, shown)
  if (outcome.kind === 'failed') throw failureOf(outcome)
  if (outcome.kind === 'unknown') throw noSubject()
  const error = { title: 'Timeout', code: 'timeout', detail: lateWords(outcome.taskId) }
  return exchange.reply
    .code(503)
    .headers({ 'retry-after': 1, ...taskHeader(outcome.taskId) })
    .send({ errors: [error] })
}

const noSubject = (): MatteError =>
  refusal(
    'unknown_foreground',
    'Could not identify foreground in image',
    'The image has no clear subject, so nothing was charged. Send an image with one person, animal or object in front.',
  )

function failureOf({ reason, message }: Extract<Outcome, { kind: 'failed' }>): MatteError {
  if (isInputFailure(reason)) return refusal('failed_to_read_image', 'Failed to read image', message)
  return new MatteError('SYSTEM_INTERNAL_ERROR', message)
}
