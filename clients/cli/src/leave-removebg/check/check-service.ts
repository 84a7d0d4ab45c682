// Sends each request of the expectations to a Matte, and prints a table with a total.
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { credentialError } from '../../cli-error.ts'
import { type ExitCode, exitCodes } from '../../exit-codes.ts'
import type { Output } from '../../print/output.ts'
import { removebgHost, requireDoor } from '../service-url.ts'
import type { CheckTarget } from './check-target.ts'
import { compare, type Response } from './compare.ts'
import { type Expectation, type Expected, expectations, photoSize, type Request } from './expectations.ts'

/** Above the 25 s that a door waits. */
const responseMsMax = 60_000
const waitMsMax = 60_000
const triesMax = 4

/** One colour, 320×240: nothing stands out. */
const plainPicture =
  'iVBORw0KGgoAAAANSUhEUgAAAUAAAADwCAIAAAD+Tyo8AAAACXBIWXMAAAPoAAAD6AG1e1JrAAACz0lEQVR4nO3TMQ0AMAzAsDIv9XHoM0WyEeTJLJA1vwOAOwNDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYwgwMYQaGMANDmIEhzMAQZmAIMzCEGRjCDAxhBoYwA0OYgSHMwBBmYAgzMIQZGMIMDGEGhjADQ5iBIczAEGZgCDMwhBkYtusBJK+WIyHH4/EAAAAASUVORK5CYII='
/** Blue, 64×48. */
const background =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAMAAACWlYwtAAAAA1BMVEUiZqqZFymDAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAGklEQVRIie3BgQAAAADDoPlTX+AIVQEAAHQNDDAAAWReGocAAAAASUVORK5CYII='

type Row = {
  readonly check: string
  readonly expected: string
  readonly passed: boolean
  /** Differences, in words. */
  readonly problems: readonly string[]
}

type Images = Readonly<Record<NonNullable<Request['image']>, Buffer>>

/** @throws CliError when there is no door, or the key is refused */
export async function checkService(target: CheckTarget, out: Output): Promise<ExitCode> {
  await requireDoor(target.serviceUrl)
  const images: Images = {
    photo: await readFile(new URL('./check-photo.jpg', import.meta.url)),
    plain: Buffer.from(plainPicture, 'base64'),
    text: Buffer.from('This is no image.'),
  }
  await requireKey(target, images)
  out.note(`Sending ${expectations.length} requests to ${target.serviceUrl} …`)
  const rows: Row[] = []
  for (const expectation of expectations) rows.push(await check(expectation, target, images))
  const passed = rows.filter((row) => row.passed).length
  out.table(
    rows,
    [
      { title: 'check', value: (row) => row.check },
      { title: 'expected', value: (row) => row.expected },
      { title: 'result', value: (row) => (row.passed ? '✓' : `✗ ${row.problems.join(', ')}`) },
    ],
    '',
  )
  if (!out.json) out.line(`${passed} of ${rows.length} checks passed: this Matte against ${removebgHost}, version 1.0`)
  return passed === rows.length ? exitCodes.ok : exitCodes.someFailed
}

async function requireKey(target: CheckTarget, images: Images): Promise<void> {
  const { status } = await sendPatiently({ method: 'GET', path: '/v1.0/account' }, target, images)
  if (status !== 403) return
  throw credentialError(
    `${target.serviceUrl} refuses the API key.`,
    'Use a key with the scopes tasks:write and usage:read, of a plan with API access.',
  )
}

async function check({ name, request, expected }: Expectation, target: CheckTarget, images: Images): Promise<Row> {
  const sending = Array.from({ length: request.times ?? 1 }, async () => {
    try {
      // Requests at once must not need patience: the service should let them wait.
      const send = request.times === undefined ? sendPatiently : sendOnce
      return compare(await send(request, target, images), expected)
    } catch (error) {
      const { cause, message, name: kind } = error as Error & { cause?: NodeJS.ErrnoException }
      return [kind === 'TimeoutError' ? `no response in ${responseMsMax / 1_000} s` : (cause?.code ?? message)]
    }
  })
  const problems = [...new Set((await Promise.all(sending)).flat())]
  return { check: name, expected: describe(expected), passed: problems.length === 0, problems }
}

function describe({ status, code, format, size, json }: Expected): string {
  const shownSize = typeof size === 'object' ? `≤ ${size.maxPixels / 1_000_000} megapixels` : size && sizeWords[size]
  return [status, code, format, json && 'in JSON', shownSize].filter(Boolean).join(' ')
}

const sizeWords = { photo: `${photoSize.width}×${photoSize.height}`, smaller: 'cropped' } as const

/** A limit of requests per minute is no difference, so 429 is waited for. */
async function sendPatiently(request: Request, target: CheckTarget, images: Images): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const response = await sendOnce(request, target, images)
    if (response.status !== 429 || tries === triesMax) return response
    const seconds = Number(response.headers.get('retry-after') ?? 1)
    await wait(Math.min(waitMsMax, Math.max(1, seconds || 1) * 1_000))
  }
}

async function sendOnce(request: Request, { serviceUrl, apiKey }: CheckTarget, images: Images): Promise<Response> {
  const { method = 'POST', path = '/v1.0/removebg', accept } = request
  const response = await fetch(`${serviceUrl}${path}`, {
    method,
    headers: {
      ...credentialOf(request, apiKey),
      ...(accept !== undefined && { accept }),
      ...(request.body === 'json' && { 'content-type': 'application/json' }),
    },
    ...(method === 'POST' && { body: bodyOf(request, images) }),
    redirect: 'manual',
    signal: AbortSignal.timeout(responseMsMax),
  })
  const { status, headers } = response
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) }
}

function credentialOf({ credential }: Request, apiKey: string): Record<string, string> {
  if (credential === 'none') return {}
  if (credential === 'bearer') return { authorization: `Bearer ${apiKey}` }
  return { 'X-Api-Key': credential === 'wrong' ? 'wrong' : apiKey }
}

function bodyOf(
  { fields = {}, image, body, withBackground }: Request,
  images: Images,
): string | URLSearchParams | FormData {
  if (body !== undefined) {
    const all = { ...fields, ...(image !== undefined && { image_file_b64: images[image].toString('base64') }) }
    return body === 'json' ? JSON.stringify(all) : new URLSearchParams(all)
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  if (image !== undefined) form.set('image_file', new Blob([new Uint8Array(images[image])]), 'photo.jpg')
  if (withBackground) form.set('bg_image_file', new Blob([Buffer.from(background, 'base64')]), 'background.png')
  return form
}
