import type { ColourField } from './decontaminate.ts'
import type { Photo } from './sample-cells.ts'

// The only pass over the full-size photo. Rows are walked in stretches between cell centres: clear stretches are
// skipped, solid ones copied, the rest computed.

const clear = 0
const solid = 1
const mixed = 2
type Kind = typeof clear | typeof solid | typeof mixed

/** Returns RGBA, `width * height * 4` bytes, not premultiplied; colour is 0 where alpha is 0. */
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
  const rowValues = new Float64Array(gridSize * valueCount)
  const stretches = findStretches(width, gridSize)
  const ramps = { values: new Float64Array(valueCount), steps: new Float64Array(valueCount), step: gridSize / width }
  for (let y = 0; y < height; y++) {
    const across = ((y + 0.5) * gridSize) / height - 0.5
    const above = Math.max(0, Math.floor(across)) * gridSize
    const below = Math.min(gridSize - 1, Math.floor(across) + 1) * gridSize
    for (let x = 0; x < gridSize; x++) {
      const kind = kinds[above + x] as Kind
      rowKinds[x] = kind === kinds[below + x] ? kind : mixed
    }
    mixRows(rowValues, rowKinds, coefficients, field, above, below, across - Math.floor(across))
    for (let stretch = 0; stretch <= gridSize; stretch++) {
      const from = stretches[stretch] as number
      const to = stretches[stretch + 1] as number
      const left = Math.max(0, stretch - 1)
      const right = Math.min(gridSize - 1, stretch)
      const kind = rowKinds[left] === rowKinds[right] ? rowKinds[left] : mixed
      if (from === to || kind === clear) continue
      if (kind === solid) {
        copyPixels(photo, target, y * width + from, y * width + to)
        continue
      }
      fillRamps(ramps, rowValues, left, right, from, stretch)
      blendPixels(photo, target, y * width + from, y * width + to, ramps)
    }
  }
  return rgba
}

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

/** Stretch s covers the columns [starts[s], starts[s + 1]), from the centre of cell s - 1 to that of cell s. */
function findStretches(width: number, gridSize: number): Int32Array {
  const starts = new Int32Array(gridSize + 2)
  for (let stretch = 1; stretch <= gridSize; stretch++) {
    starts[stretch] = Math.min(width, Math.ceil(((stretch - 0.5) * width) / gridSize - 0.5))
  }
  starts[gridSize + 1] = width
  return starts
}

// Per cell: 4 coefficients and 6 colours of the field.
const valueCount = 10

/** Interpolates two grid rows for one photo row, only beside mixed stretches. */
function mixRows(
  values: Float64Array,
  rowKinds: Uint8Array,
  coefficients: Float32Array,
  field: ColourField,
  above: number,
  below: number,
  share: number,
): void {
  for (let x = 0; x < rowKinds.length; x++) {
    const kind = rowKinds[x]
    const isNeeded = kind === mixed || (rowKinds[x - 1] ?? kind) !== kind || (rowKinds[x + 1] ?? kind) !== kind
    if (!isNeeded) continue
    for (let i = 0; i < 4; i++) {
      const upper = coefficients[(above + x) * 4 + i] as number
      values[x * valueCount + i] = upper + share * ((coefficients[(below + x) * 4 + i] as number) - upper)
    }
    for (let i = 0; i < 6; i++) {
      const upper = field[(above + x) * 6 + i] as number
      values[x * valueCount + 4 + i] = upper + share * ((field[(below + x) * 6 + i] as number) - upper)
    }
  }
}

type Ramps = { readonly values: Float64Array; readonly steps: Float64Array; readonly step: number }

function fillRamps(
  { values, steps, step }: Ramps,
  row: Float64Array,
  left: number,
  right: number,
  from: number,
  stretch: number,
): void {
  const start = (from + 0.5) * step - 0.5 - (stretch - 1)
  for (let i = 0; i < valueCount; i++) {
    const value = row[left * valueCount + i] as number
    const rise = (row[right * valueCount + i] as number) - value
    values[i] = value + start * rise
    steps[i] = step * rise
  }
}

function copyPixels({ pixels, channels }: Photo, target: Uint32Array, from: number, to: number): void {
  for (let pixel = from, i = from * channels; pixel < to; pixel++, i += channels) {
    const opacity = channels === 4 ? (pixels[i + 3] as number) : 255
    if (opacity === 0) continue
    target[pixel] = pack(pixels[i] as number, pixels[i + 1] as number, pixels[i + 2] as number, opacity)
  }
}

function blendPixels({ pixels, channels }: Photo, target: Uint32Array, from: number, to: number, ramps: Ramps): void {
  const { values, steps } = ramps
  let slopeRed = values[0] as number
  let slopeGreen = values[1] as number
  let slopeBlue = values[2] as number
  let base = values[3] as number
  const stepRed = steps[0] as number
  const stepGreen = steps[1] as number
  const stepBlue = steps[2] as number
  const stepBase = steps[3] as number
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

/** `share`: foreground share of the pixel. The field's means are values `i` and `i + 3`. */
function unmix(colour: number, share: number, { values, steps }: Ramps, i: number, along: number): number {
  const foreground = (values[i] as number) + along * (steps[i] as number)
  const background = (values[i + 3] as number) + along * (steps[i + 3] as number)
  const unexplained = colour - share * foreground - (1 - share) * background
  const unmixed = foreground + share * unexplained + 0.5
  return unmixed <= 0 ? 0 : unmixed >= 255 ? 255 : unmixed | 0
}

const pack = (red: number, green: number, blue: number, alpha: number) =>
  red | (green << 8) | (blue << 16) | (alpha << 24)
