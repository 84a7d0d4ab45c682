// Measures of every picture by the product's functions, with the error of its cut-out.
import { joinMasks } from '@matte/controller/worker/augmentation/join-masks'
import { mirror, mirrorBack } from '@matte/controller/worker/augmentation/mirror'
import { measureResult, measureViews } from '@matte/controller/worker/image/cut-out/confidence'
import { cutOut, refineMask } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import type { Say } from '@matte/local/say'
import type { Part, Pixels } from '../data/case.ts'
import { drawCase, listCases } from '../data/data-set.ts'
import { intersectionOverUnion } from '../metrics/outline.ts'
import { listEmpties } from '../presence/empties.ts'
import type { Network } from '../run/model.ts'

export type Measured = {
  readonly name: string
  readonly part: Part
  readonly views: 1 | 2
  /** Without a subject: every cut-out of it is wrong. */
  readonly isEmpty: boolean
  /** IoU of the cut-out; 0 without a subject. */
  readonly iou: number
  /** Empty when the rule for empty pictures found nothing. */
  readonly measures: readonly number[]
  readonly confidence: number
}

/** IoU from which a cut-out counts as right. */
export const rightFrom = 0.85

type Input = { readonly name: string; readonly file: Buffer; readonly truth?: Pixels }

/** Each picture of the part with one and with two views, those without a subject last. */
export async function* measurePictures(part: Part, models: ReadonlyMap<string, Network>, say: Say) {
  for await (const input of readPictures(part, say)) {
    for (const [model, network] of models) {
      for (const views of [1, 2] as const) yield { model, part, views, ...(await measure(input, network, views)) }
    }
  }
}

async function* readPictures(part: Part, say: Say): AsyncGenerator<Input> {
  for (const one of await listCases({ parts: [part], large: false, say })) yield drawCase(one, say)
  for (const one of listEmpties(part)) yield { name: one.name, file: await one.draw() }
}

async function measure({ name, file, truth }: Input, { ask, size }: Network, views: 1 | 2) {
  const photo = await decodePhoto(file, 60e6)
  const image = await toModelInput(photo, size)
  const mask = Uint8Array.from(await ask(image))
  const other = views === 2 ? mirrorBack(await ask(mirror(image, size)), size) : undefined
  const compared = measureViews(mask, other)
  if (other) joinMasks(mask, other, photo)
  const { rgba, foreground, confidence = 0 } = cutOut(photo, mask, compared)
  const measures = foreground === null ? [] : measureResult(refineMask(photo, mask), compared)
  const iou = truth === undefined ? 0 : intersectionOverUnion(alphaOf(truth.rgba), alphaOf(rgba))
  return { name, isEmpty: truth === undefined, iou, measures, confidence }
}

function alphaOf(rgba: Uint8Array): Float32Array {
  const alpha = new Float32Array(rgba.length / 4)
  for (let i = 0; i < alpha.length; i++) alpha[i] = (rgba[i * 4 + 3] as number) / 255
  return alpha
}
