/** Decoded pixels, upright, 8-bit sRGB. The buffer may move to another thread and is then empty here. */
export type Photo = {
  /** Rows from the top, not premultiplied. */
  readonly pixels: Uint8Array<ArrayBuffer>
  /** 4: with an alpha that is not opaque everywhere. */
  readonly channels: 3 | 4
  readonly width: number
  readonly height: number
}

/** Planes of red, green and blue (0..1) on a square grid over the photo. */
export type CellColours = readonly [red: Float32Array, green: Float32Array, blue: Float32Array]

// Per cell and axis. Windows hold 49 cells, so four pixels per cell leave no noise that matters.
const samplesPerAxis = 2

/** Mean visible colour of each cell; a fully transparent cell is mid-grey, whatever colour it hides. */
export function sampleCells(photo: Photo, gridSize: number): CellColours {
  const columns = samplePositions(photo.width, gridSize)
  const rows = samplePositions(photo.height, gridSize)
  const newPlane = () => new Float32Array(gridSize * gridSize).fill(0.5)
  const planes: CellColours = [newPlane(), newPlane(), newPlane()]
  for (let y = 0; y < gridSize; y++) {
    sampleRow(photo, columns, rows.subarray(y * samplesPerAxis, (y + 1) * samplesPerAxis), planes, y * gridSize)
  }
  return planes
}

function samplePositions(length: number, gridSize: number): Int32Array {
  const samples = gridSize * samplesPerAxis
  return Int32Array.from({ length: samples }, (_, sample) => Math.floor(((sample + 0.5) * length) / samples))
}

function sampleRow(photo: Photo, columns: Int32Array, rows: Int32Array, planes: CellColours, offset: number): void {
  const { pixels, channels, width } = photo
  const [redPlane, greenPlane, bluePlane] = planes
  for (let sample = 0, cell = offset; sample < columns.length; sample += samplesPerAxis, cell++) {
    let red = 0
    let green = 0
    let blue = 0
    let weight = 0
    for (let across = 0; across < samplesPerAxis; across++) {
      for (let down = 0; down < samplesPerAxis; down++) {
        const i = ((rows[down] as number) * width + (columns[sample + across] as number)) * channels
        const alpha = channels === 4 ? (pixels[i + 3] as number) : 255
        red += alpha * (pixels[i] as number)
        green += alpha * (pixels[i + 1] as number)
        blue += alpha * (pixels[i + 2] as number)
        weight += alpha
      }
    }
    if (weight === 0) continue
    const scale = 1 / (weight * 255)
    redPlane[cell] = red * scale
    greenPlane[cell] = green * scale
    bluePlane[cell] = blue * scale
  }
}
