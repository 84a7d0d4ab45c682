import type { Photo } from './decode.ts'
import type { ColourField } from './decontaminate.ts'

// The one pass over the full-size photo. It walks each row from cell centre to cell centre of the grid: a stretch between
// cells that are certainly clear is skipped, between cells that are certainly solid copied, and only the rest calculated.
// Reading a typed array is `number | undefined` to the checker; every index here is bounded by the photo or the grid.

const clear = 0
const solid = 1
const mixed = 2
type Kind = typeof clear | typeof solid | typeof mixed

/** RGBA of the cut-out, `width * height * 4` bytes, not premultiplied; colour is 0 wherever alpha is 0. */
export function compose(
  photo: Photo,
  gridSize: number,
  coefficients: Float32Array,
  field: ColourField,
): Uint8Array<ArrayBuffer> {
  const { width, height } = photo
  const rgba = new Uint8Array(width * height * 4)
  const target = new Uint32Array(rgba.buffer)
  const kinds = classifyCells(coefficients)
  const rowKinds = new Uint8Array(gridSize)
  const stretches = findStretches(width, gridSize)
  const ramps = new Float64Array(rampCount * 2)
  const step = gridSize / width
  for (let y = 0; y < height; y++) {
    const across = ((y + 0.5) * gridSize) / height - 0.5
    const above = Math.max(0, Math.floor(across)) * gridSize
    const below = Math.min(gridSize - 1, Math.floor(across) + 1) * gridSize
    const share = across - Math.floor(across)
    for (let x = 0; x < gridSize; x++) {
      const kind = kinds[above + x] as Kind
      rowKinds[x] = kind === kinds[below + x] ? kind : mixed
    }
    for (let stretch = 0; stretch <= gridSize; stretch++) {
      const from = stretches[stretch] as number
      const to = stretches[stretch + 1] as number
      if (from === to) continue
      const left = Math.max(0, stretch - 1)
      const right = Math.min(gridSize - 1, stretch)
      const kind = rowKinds[left] === rowKinds[right] ? rowKinds[left] : mixed
      if (kind === clear) continue
      if (kind === solid) {
        copyPixels(photo, target, y * width + from, y * width + to)
        continue
      }
      const corners = {
        aboveLeft: above + left,
        aboveRight: above + right,
        belowLeft: below + left,
        belowRight: below + right,
      }
      const start = (from + 0.5) * step - 0.5 - (stretch - 1)
      fillRamps(ramps, coefficients, 4, 0, corners, share, start, step)
      fillRamps(ramps, field, 6, 4, corners, share, start, step)
      blendPixels(photo, target, y * width + from, y * width + to, ramps)
    }
  }
  return rgba
}

/** What a cell is for every colour there could be: the linear model's bounds over all of 0..255. */
function classifyCells(coefficients: Float32Array): Uint8Array {
  const kinds = new Uint8Array(coefficients.length / 4)
  for (let cell = 0; cell < kinds.length; cell++) {
    let lowest = coefficients[cell * 4 + 3] as number
    let highest = lowest
    for (let channel = 0; channel < 3; channel++) {
      const slope = coefficients[cell * 4 + channel] as number
      if (slope < 0) lowest += slope * 255
      else highest += slope * 255
    }
    kinds[cell] = highest <= 0 ? clear : lowest >= 255 ? solid : mixed
  }
  return kinds
}

/** Stretch s covers the columns from the centre of cell s - 1 to that of cell s: [starts[s], starts[s + 1]). */
function findStretches(width: number, gridSize: number): Int32Array {
  const starts = new Int32Array(gridSize + 2)
  for (let stretch = 1; stretch <= gridSize; stretch++) {
    starts[stretch] = Math.min(width, Math.ceil(((stretch - 0.5) * width) / gridSize - 0.5))
  }
  starts[gridSize + 1] = width
  return starts
}

// The 4 coefficients and 6 colours along a stretch: their values at its first pixel, then their steps from pixel to pixel.
const rampCount = 10

type Corners = { aboveLeft: number; aboveRight: number; belowLeft: number; belowRight: number }

function fillRamps(
  ramps: Float64Array,
  grid: Float32Array,
  perCell: number,
  offset: number,
  { aboveLeft, aboveRight, belowLeft, belowRight }: Corners,
  share: number,
  start: number,
  step: number,
): void {
  for (let i = 0; i < perCell; i++) {
    const aboveAtLeft = grid[aboveLeft * perCell + i] as number
    const aboveAtRight = grid[aboveRight * perCell + i] as number
    const left = aboveAtLeft + share * ((grid[belowLeft * perCell + i] as number) - aboveAtLeft)
    const right = aboveAtRight + share * ((grid[belowRight * perCell + i] as number) - aboveAtRight)
    ramps[offset + i] = left + start * (right - left)
    ramps[rampCount + offset + i] = step * (right - left)
  }
}

function copyPixels({ pixels, channels }: Photo, target: Uint32Array, from: number, to: number): void {
  for (let pixel = from, i = from * channels; pixel < to; pixel++, i += channels) {
    const opacity = channels === 4 ? (pixels[i + 3] as number) : 255
    if (opacity === 0) continue
    target[pixel] = pack(pixels[i] as number, pixels[i + 1] as number, pixels[i + 2] as number, opacity)
  }
}

function blendPixels(
  { pixels, channels }: Photo,
  target: Uint32Array,
  from: number,
  to: number,
  ramps: Float64Array,
): void {
  let slopeRed = ramps[0] as number
  let slopeGreen = ramps[1] as number
  let slopeBlue = ramps[2] as number
  let base = ramps[3] as number
  const stepRed = ramps[rampCount] as number
  const stepGreen = ramps[rampCount + 1] as number
  const stepBlue = ramps[rampCount + 2] as number
  const stepBase = ramps[rampCount + 3] as number
  for (let pixel = from, i = from * channels; pixel < to; pixel++, i += channels) {
    const red = pixels[i] as number
    const green = pixels[i + 1] as number
    const blue = pixels[i + 2] as number
    const opacity = channels === 4 ? (pixels[i + 3] as number) : 255
    const level = slopeRed * red + slopeGreen * green + slopeBlue * blue + base
    slopeRed += stepRed
    slopeGreen += stepGreen
    slopeBlue += stepBlue
    base += stepBase
    const alpha = level >= 255 ? opacity : ((level * opacity) / 255 + 0.5) | 0
    if (level <= 0 || alpha === 0) continue
    if (level >= 255) {
      target[pixel] = pack(red, green, blue, alpha)
      continue
    }
    const along = pixel - from
    const share = level / 255
    target[pixel] = pack(
      unmix(red, share, ramps, 4, along),
      unmix(green, share, ramps, 5, along),
      unmix(blue, share, ramps, 6, along),
      alpha,
    )
  }
}

/** The foreground colour (0..255) of a pixel that is `share` foreground; the field's means are ramps `i` and `i + 3`. */
function unmix(colour: number, share: number, ramps: Float64Array, i: number, along: number): number {
  const foreground = (ramps[i] as number) + along * (ramps[rampCount + i] as number)
  const background = (ramps[i + 3] as number) + along * (ramps[rampCount + i + 3] as number)
  const unexplained = colour - share * foreground - (1 - share) * background
  const unmixed = foreground + share * unexplained + 0.5
  return unmixed <= 0 ? 0 : unmixed >= 255 ? 255 : unmixed | 0
}

// Little-endian, as every machine that Node runs on is.
const pack = (red: number, green: number, blue: number, alpha: number) =>
  red | (green << 8) | (blue << 16) | (alpha << 24)
