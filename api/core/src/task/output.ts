// Output options (D41):
// - background: placed under the cut-out; JPEG has no transparency, so its default is white.
// - crop: to the box of the foreground; an image without foreground is not cropped.
// - cropMargin: on all four sides; a percentage refers to the longer side of the box. It is clipped at the image's
//   edge.
// - maxSide: scales the longer side down to this, never up.
// - channels `alpha`: the matte alone as one grey channel, 255 on the subject; background is ignored.
import type { Output } from '../db/tables/task.ts'
import { MatteError } from '../error.ts'
import type { OutputFormat } from '../workspace/format.ts'
import type { Plan } from '../workspace/plan.ts'

/** As requested. The syntax is checked already, the format is not. */
export type RequestedOutput = {
  readonly format?: string | null | undefined
  readonly background?: string | null | undefined
  readonly crop?: boolean | null | undefined
  readonly cropMargin?: string | null | undefined
  readonly maxSide?: number | null | undefined
  readonly channels?: Output['channels'] | null | undefined
}

export const defaultOutput: Output = {
  format: 'png',
  background: 'transparent',
  crop: false,
  cropMargin: '0px',
  maxSide: null,
  channels: 'rgba',
}

/**
 * Fills in the defaults; null stays null.
 * @throws MatteError TASK_OUTPUT_FORMAT_NOT_SUPPORTED for a format that is unknown or not in the plan
 */
export function resolveOutput(requested: RequestedOutput | null, plan: Plan): Output | null {
  const format = requested?.format ?? defaultOutput.format
  if (!isFormatOf(plan, format)) {
    throw new MatteError(
      'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
      `Your plan supports the output formats ${plan.outputFormats.join(', ')}.`,
      { details: { allowed: plan.outputFormats } },
    )
  }
  if (requested === null) return null
  return {
    format,
    background: requested.background?.toLowerCase() ?? defaultOutput.background,
    crop: requested.crop ?? defaultOutput.crop,
    cropMargin: requested.cropMargin ?? defaultOutput.cropMargin,
    maxSide: requested.maxSide ?? defaultOutput.maxSide,
    channels: requested.channels ?? defaultOutput.channels,
  }
}

const isFormatOf = (plan: Plan, format: string): format is OutputFormat =>
  (plan.outputFormats as readonly string[]).includes(format)
