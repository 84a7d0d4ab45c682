// The paths of remove.bg's version 1.0, below `/v1.0`. The header X-Api-Key carries a key of Matte.
import { randomUUID } from 'node:crypto'
import { readAvailable } from '@matte/core/credit/balance'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { defaultModelVersion } from '@matte/core/model/model-queries'
import { isInputFailure } from '@matte/core/task/failure'
import type { FastifyPluginAsync } from 'fastify'
import { type ImageForm, imageBody, readForm } from '../../image-request/image-body.ts'
import { readBodiesInHandlers } from '../../image-request/raw-bodies.ts'
import { checkFile, type GivenImage } from '../../image-request/stored-images.ts'
import { limitMegapixels } from '../../limit/limit-requests.ts'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import type { Exchange } from '../../limit/request-body.ts'
import { cutOut, type DoorDeps, type Outcome } from '../cut-out.ts'
import type { RemovebgModelTable } from '../settings.ts'
import { lateWords, taskHeader } from '../words.ts'
import { type Shown, sendResult } from './answer.ts'
import { refusal, removebgErrorHandler } from './errors.ts'
import { readOptions } from './options.ts'

const common = { door: true, envelope: false } as const

/** Shown for a plan without charges, so programs that look for credits first continue. */
const uncharged = { total: 1_000_000, subscription: 1_000_000, payg: 0, enterprise: 0 }

type RemovebgDeps = DoorDeps & {
  readonly table: RemovebgModelTable
  readonly limiter: RateLimiter
  /** An image without a subject is refused and not charged. */
  readonly subjectsOnly: boolean
}

export const removebgRoutes: FastifyPluginAsync<RemovebgDeps> = async (app, deps) => {
  await readBodiesInHandlers(app)
  app.setErrorHandler(removebgErrorHandler(deps.metrics.countError))
  app.setNotFoundHandler(app.refuseUnknown)
  const schema = { hide: true }

  const config = { ...common, access: { scope: 'tasks:write' }, rawBody: imageBody(deps.imageBytesMax) } as const
  app.post('/removebg', { schema, config }, async (request, reply) => {
    const read = (form: ImageForm) => {
      const options = readOptions(form)
      const modelVersion = deps.table[options.type] ?? defaultModelVersion
      return { ...options, image: readImage(form), modelVersion, subjectsOnly: deps.subjectsOnly }
    }
    const countPixels = (pixels: number | undefined) => limitMegapixels(deps.limiter, { request, reply }, pixels)
    const { asked, outcome } = await cutOut(deps, { request, reply }, { read, countPixels })
    return answer({ request, reply }, outcome, asked)
  })

  const accountConfig = { ...common, access: { scope: 'usage:read' } } as const
  app.get('/account', { schema, config: accountConfig }, async ({ caller }) => {
    const credits = caller.planLimits.charged ? await creditsOf(deps.db, caller.workspaceId) : uncharged
    return { data: { attributes: { credits, api: { free_calls: 0, sizes: 'all' } } } }
  })

  // Contributions to the training of remove.bg's models: checked like an image, and not kept.
  app.post('/improve', { schema, config }, async (request, reply) => {
    using hold = deps.budget.hold(request.caller.workspaceId)
    const { planLimits: plan } = request.caller
    const form = await readForm({ request, reply }, { imageBytesMax: plan.maxFileSizeBytes, hold })
    checkFile(plan, readImage(form))
    return { id: randomUUID() }
  })
}

/** All amounts of remove.bg; `payg` is what no plan has granted. They add up to `total`. */
async function creditsOf(db: Db, workspaceId: string) {
  const { ofPlan: subscription, others: payg } = await readAvailable(db, workspaceId)
  return { total: subscription + payg, subscription, payg, enterprise: 0 }
}

/** @throws MatteError INVALID_PARAMS */
function readImage({ fields, files }: ImageForm): GivenImage {
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
