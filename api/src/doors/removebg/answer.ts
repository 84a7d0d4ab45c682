// The result as remove.bg answers it: binary, or JSON with `result_b64`, by the header Accept. Both are streamed.
import { Readable } from 'node:stream'
import { creditCost } from '@matte/core/task/limits'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'
import type { FastifyReply } from 'fastify'
import { prefersJson } from '../../image-request/accept.ts'
import type { Exchange } from '../../limit/request-body.ts'
import type { Outcome } from '../cut-out.ts'

type Succeeded = Extract<Outcome, { kind: 'succeeded' }>

/** `isClassified`: the request wants `X-Type`. `parts`: the result is a ZIP. */
export type Shown = { readonly isClassified: boolean; readonly parts: boolean }

/** Models tell the subject from its background, and not what it is. */
const type = 'other'

export function sendResult({ request, reply }: Exchange, { task, image }: Succeeded, { isClassified, parts }: Shown) {
  const box = task.foreground ?? { top: 0, left: 0, width: 0, height: 0 }
  reply.headers({
    'x-credits-charged': request.caller.planLimits.charged ? creditCost : 0,
    'x-width': task.width ?? 0,
    'x-height': task.height ?? 0,
    ...(isClassified && { 'x-type': type }),
    'x-foreground-top': box.top,
    'x-foreground-left': box.left,
    'x-foreground-width': box.width,
    'x-foreground-height': box.height,
  })
  if (!prefersJson(request)) {
    const contentType = parts ? 'application/zip' : mimeTypes[task.result_format as OutputFormat]
    return sendBody(reply, { contentType, lengthBytes: image.lengthBytes, body: image.body })
  }
  const place = { foreground_top: box.top, foreground_left: box.left }
  const size = { foreground_width: box.width, foreground_height: box.height }
  const start = '{"data":{"result_b64":"'
  const end = `",${JSON.stringify({ ...place, ...size }).slice(1)}}`
  const lengthBytes = start.length + Math.ceil(image.lengthBytes / 3) * 4 + end.length
  const body = Readable.from(around(start, image.body ?? [], end), { objectMode: false })
  return sendBody(reply, { contentType: 'application/json', lengthBytes, body })
}

type Body = { readonly contentType: string; readonly lengthBytes: number; readonly body: Readable | undefined }

const sendBody = (reply: FastifyReply, { contentType, lengthBytes, body }: Body): FastifyReply =>
  reply.headers({ 'content-type': contentType, 'content-length': lengthBytes }).send(body)

async function* around(start: string, bytes: AsyncIterable<Buffer> | Iterable<Buffer>, end: string) {
  yield start
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = all.length - (all.length % 3)
    yield all.toString('base64', 0, whole)
    rest = all.subarray(whole)
  }
  yield rest.toString('base64') + end
}
