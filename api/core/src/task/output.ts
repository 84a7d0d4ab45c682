// What a caller may ask of the result (D41). The interface's options leave some things open; here they mean:
// - background: laid under the cut-out. JPEG has no transparency, so it gets white under whatever is not opaque.
// - crop: to the box of the foreground; an image without one stays whole.
// - cropMargin: on all four sides alike, a percentage being one of the box's longer side; it ends at the image's
//   edge. Without crop it does nothing.
// - maxSide: the longer side of what crop left is scaled down to it, never up.
// - channels `alpha`: the matte alone, one grey channel, 255 where the subject is; background then does nothing.
import type { Output } from '../db/tables/task.ts'
import { MatteError } from '../error.ts'
import type { OutputFormat } from '../workspace/format.ts'
import type { Plan } from '../workspace/plan.ts'

/** As asked for; the forms of the texts are judged already, the format is not. */
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
 * The request with the defaults filled in; null stays null.
 * @throws MatteError TASK_OUTPUT_FORMAT_NOT_SUPPORTED for a format that the plan lacks, unknown names included
 */
export function resolveOutput(requested: RequestedOutput | null, plan: Plan): Output | null {
  const format = requested?.format ?? defaultOutput.format
  if (!isFormatOf(plan, format)) {
    throw new MatteError(
      'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
      `Your plan has the output formats ${plan.outputFormats.join(', ')}.`,
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
