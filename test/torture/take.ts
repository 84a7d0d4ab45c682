// Processes one file with the controller's functions and a model that finds everything.
import { configureSharp } from '@matte/controller/worker/image/configure'
import { type CutOut, cutOut } from '@matte/controller/worker/image/cut-out/cut-out'
import { decodePhoto, readHeader } from '@matte/controller/worker/image/decode'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import { defaultPlans } from '@matte/core/workspace/plan'

configureSharp()

export const maxPixels = defaultPlans.internal?.maxPixels ?? 0
const modelSize = 320
const everything = new Uint8Array(modelSize * modelSize).fill(255)
/** @throws ImageError */
export async function takeCutOut(file: Uint8Array): Promise<CutOut> {
  const photo = await decodePhoto(file, maxPixels, await readHeader(file, maxPixels))
  const input = await toModelInput(photo, modelSize)
  if (input.length !== modelSize ** 2 * 3) throw new Error(`the model's input has ${input.length} bytes`)
  return cutOut(photo, everything)
}
