// Output options, in the order of their application:
// - roi: pixels outside this region of the photo become background, before the box of the foreground is measured.
// - crop: to the box of the foreground; an image without foreground is not cropped.
// - cropMargin: for all four sides, for top and bottom and for left and right, or for top, right, bottom and left. A
//   percentage refers to the longer side of the box. A margin is clipped at the image's edge.
// - scale: size of the foreground's box relative to the canvas, which is the cropped image. The canvas keeps its size.
// - position: place of the foreground's box in the canvas.
// - background: placed under the cut-out; JPEG has no transparency, so its default is white.
// - channels `alpha`: the matte alone as one grey channel, 255 on the subject; background is ignored.
// - maxSide, maxPixels: scale the whole image down, never up. The stricter one counts.
// An image without foreground is neither cropped nor scaled nor moved.
import type { Output, Region, Shadow } from '../db/tables/task.ts'
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
  readonly maxPixels?: number | null | undefined
  readonly roi?: Region | null | undefined
  readonly scale?: string | null | undefined
  readonly position?: string | null | undefined
  readonly channels?: Output['channels'] | null | undefined
  readonly shadow?: RequestedShadow | null | undefined
  /** Set by the doors alone. */
  readonly alpha?: Output['alpha'] | undefined
}

type RequestedShadow = Pick<Shadow, 'kind'> & {
  readonly [Name in Exclude<keyof Shadow, 'kind'>]?: Shadow[Name] | null | undefined
}

export const defaultOutput: Output = {
  format: 'png',
  background: 'transparent',
  crop: false,
  cropMargin: '0px',
  maxSide: null,
  maxPixels: null,
  channels: 'rgba',
  roi: null,
  scale: 'original',
  position: 'original',
  shadow: null,
}

export const shadowKinds = ['drop', 'contact', 'cast'] as const satisfies readonly Shadow['kind'][]

export const shadowDefaults: Readonly<Record<Shadow['kind'], Omit<Shadow, 'kind'>>> = {
  drop: { opacity: 40, blur: '8%', angle: 150, color: '#000000', grow: false },
  contact: { opacity: 75, blur: '12%', angle: 180, color: '#000000', grow: false },
  cast: { opacity: 50, blur: '5%', angle: 60, color: '#000000', grow: false },
}

/** Adds the members that rows of an earlier release lack. */
export const completeOutput = (stored: Partial<Output> | null): Output | null =>
  stored && { ...defaultOutput, ...stored }

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
    maxPixels: requested.maxPixels ?? defaultOutput.maxPixels,
    channels: requested.channels ?? defaultOutput.channels,
    roi: requested.roi ?? defaultOutput.roi,
    scale: requested.scale ?? defaultOutput.scale,
    position: requested.position ?? defaultPosition(requested.scale ?? defaultOutput.scale),
    shadow: requested.shadow ? resolveShadow(requested.shadow) : defaultOutput.shadow,
    ...(requested.alpha && { alpha: requested.alpha }),
  }
}

function resolveShadow({ kind, opacity, blur, angle, color, grow }: RequestedShadow): Shadow {
  const defaults = shadowDefaults[kind]
  return {
    kind,
    opacity: opacity ?? defaults.opacity,
    blur: blur ?? defaults.blur,
    angle: angle ?? defaults.angle,
    color: color?.toLowerCase() ?? defaults.color,
    grow: grow ?? defaults.grow,
  }
}

/** A foreground of another size is centred, because its original place has no meaning then. */
const defaultPosition = (scale: string): string => (scale === 'original' ? defaultOutput.position : 'center')

/** The side that a region ends before it begins; undefined if only the photo can tell, or if there is none. */
export function findInvertedSide({ left, top, right, bottom }: Region): 'right' | 'bottom' | undefined {
  if (!canFollow(left, right)) return 'right'
  return canFollow(top, bottom) ? undefined : 'bottom'
}

function canFollow(from: string, to: string): boolean {
  const isSameUnit = from.endsWith('%') === to.endsWith('%')
  return !isSameUnit || Number.parseInt(from, 10) < Number.parseInt(to, 10)
}

const isFormatOf = (plan: Plan, format: string): format is OutputFormat =>
  (plan.outputFormats as readonly string[]).includes(format)
