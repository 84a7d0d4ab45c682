// Shadow of a cut-out as a plane of opacities, computed from its alpha at full size.
import type { Shadow } from '@matte/core/db/tables/task'
import type { Box } from '../cut-out/foreground.ts'
import { blur, type Deviations, type RowSource, reachesOf } from './box-blur.ts'
import { findGroundLine, type Subject } from './ground-line.ts'
import { castOffset, contactDepth, deviationsOf, dropOffset } from './shadow-size.ts'

export type ShadowLayer = {
  /** In pixels of the photo; may extend beyond it. */
  readonly box: Box
  /** 0..255, one per pixel of the box. */
  readonly opacities: Uint8Array
}

/** Undefined if there is nothing to see, as without contact to the ground. */
export const makeShadow = (subject: Subject, shadow: Shadow): ShadowLayer | undefined =>
  shadow.opacity === 0 ? undefined : makers[shadow.kind](subject, shadow)

const makers = { drop: makeDrop, contact: makeContact, cast: makeCast } as const

type Placed<T> = { readonly source: RowSource<T>; readonly left: number; readonly top: number }

function layerOf<T>({ source, left, top }: Placed<T>, deviations: Deviations, opacity: number): ShadowLayer {
  const { bytes, ...size } = blur(source, deviations, opacity)
  const reach = reachesOf(deviations)
  return { opacities: bytes, box: { left: left - reach.across, top: top - reach.down, ...size } }
}

function makeDrop(subject: Subject, shadow: Shadow): ShadowLayer {
  const { left, top, ...size } = subject.foreground
  const { x, y } = dropOffset(shadow, size)
  const source = { ...size, of: subject, readRow: readAlpha }
  return layerOf({ source, left: left + x, top: top + y }, deviationsOf(shadow, size), shadow.opacity / 100)
}

function readAlpha({ rgba, width, foreground }: Subject, y: number, line: Float64Array): void {
  let from = ((foreground.top + y) * width + foreground.left) * 4 + 3
  for (let x = 0; x < foreground.width; x++, from += 4) line[x] = rgba[from] as number
}

/** Light reaches under the far end of a cast shadow. */
const castFade = 0.6

type Cast = Subject & { readonly depth: number; readonly across: number; readonly isBehind: boolean }

/** The subject sheared and flattened onto the ground, which begins at its lowest row. */
function makeCast(subject: Subject, shadow: Shadow): ShadowLayer {
  const { left, top, ...size } = subject.foreground
  const { x, y } = castOffset(shadow, size)
  const cast = { ...subject, depth: Math.abs(y), across: x, isBehind: y < 0 }
  const source = { width: size.width + Math.abs(x), height: cast.depth, of: cast, readRow: readCastRow }
  const foot = top + size.height
  const place = { left: left + Math.min(0, x), top: cast.isBehind ? foot - cast.depth : foot }
  return layerOf({ source, ...place }, deviationsOf(shadow, size), shadow.opacity / 100)
}

function readCastRow({ rgba, width, foreground, depth, across, isBehind }: Cast, y: number, line: Float64Array): void {
  const height = ((isBehind ? depth - y - 0.5 : y + 0.5) / depth) * foreground.height
  const share = height / foreground.height
  const row = foreground.top + foreground.height - 1 - Math.floor(height)
  const strength = 1 - castFade * share
  const shift = share * across - Math.min(0, across)
  const whole = Math.floor(shift)
  let from = (row * width + foreground.left) * 4 + 3
  let last = 0
  for (let x = 0; x < foreground.width; x++, from += 4) {
    const here = (rgba[from] as number) * strength
    line[whole + x] = here + (last - here) * (shift - whole)
    last = here
  }
  if (whole + foreground.width < line.length) line[whole + foreground.width] = last * (shift - whole)
}

type Contact = {
  /** Row of the ground line for each column, from the top of the source. */
  readonly rows: Float64Array
  readonly strengths: Float64Array
  readonly above: number
  readonly below: number
}

/** Under a car or a chair, the ground is dark up to this height, as a share of the shorter side. */
const gapShare = 0.15
/** The dark line right at the contact, beside the wide soft shadow around it. */
const coreSoftness = 0.2

function makeContact(subject: Subject, shadow: Shadow): ShadowLayer | undefined {
  const { left, top, ...size } = subject.foreground
  const { rows, contact } = findGroundLine(subject)
  const first = contact.findIndex((strength) => strength > 0)
  if (first < 0) return undefined
  const end = contact.findLastIndex((strength) => strength > 0) + 1
  const line = rows.subarray(first, end)
  const above = Math.ceil(gapShare * Math.min(size.width, size.height))
  const below = contactDepth(size)
  const highest = Math.max(0, Math.floor(Math.min(...line)) - above)
  const of = { rows: line.map((row) => row - highest), strengths: contact.subarray(first, end), above, below }
  const height = Math.ceil(Math.max(...of.rows)) + below + 1
  const placed = {
    source: { width: line.length, height, of, readRow: readContactRow },
    left: left + first,
    top: top + highest,
  }
  const wide = deviationsOf(shadow, size)
  const core = {
    across: [wide.across[0] * coreSoftness, wide.across[1] * coreSoftness],
    down: wide.down * coreSoftness,
  } as const
  const layer = layerOf(placed, wide, shadow.opacity / 200)
  addTo(layer, layerOf(placed, core, shadow.opacity / 200))
  return layer
}

function readContactRow({ rows, strengths, above, below }: Contact, y: number, line: Float64Array): void {
  for (let x = 0; x < line.length; x++) {
    const under = y - (rows[x] as number)
    const strength = strengths[x] as number
    const share = under > 0 ? 1 - under / (below * strength + 1) : 1 + under / above
    if (share > 0) line[x] = 255 * strength * (under > 0 ? Math.sqrt(share) : share)
  }
}

/** `other` lies within `layer`. */
function addTo({ box, opacities }: ShadowLayer, other: ShadowLayer): void {
  for (let y = 0, from = 0; y < other.box.height; y++) {
    let to = (other.box.top - box.top + y) * box.width + other.box.left - box.left
    for (let x = 0; x < other.box.width; x++, from++, to++) {
      opacities[to] = (opacities[to] as number) + (other.opacities[from] as number)
    }
  }
}
