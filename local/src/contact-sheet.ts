import sharp, { type OverlayOptions, type Sharp } from 'sharp'

export type SheetRow = { readonly photo: Buffer; readonly cutOut: Buffer }

/** Side of a cell and the gap between cells, in pixels. */
const cell = 300
const gap = 12

/** One PNG: a row a photo; its columns are the photo, the alpha as grey, and the cut-out on a checkerboard. */
export async function contactSheet(rows: readonly SheetRow[]): Promise<Buffer> {
  const overlays: OverlayOptions[] = []
  for (const [index, { photo, cutOut }] of rows.entries()) {
    const alpha = await sharp(cutOut).extractChannel('alpha').toColourspace('srgb').png().toBuffer()
    const cells = [await fit(photo), await fit(alpha), await onCheckerboard(cutOut)]
    const top = gap + index * (cell + gap)
    overlays.push(...cells.map((input, column) => ({ input, top, left: gap + column * (cell + gap) })))
  }
  const width = gap + 3 * (cell + gap)
  const height = gap + Math.max(1, rows.length) * (cell + gap)
  return sharp({ create: { width, height, channels: 3, background: '#f4f4f5' } })
    .composite(overlays)
    .png()
    .toBuffer()
}

const inside = { width: cell, height: cell, fit: 'contain', background: { r: 0, g: 0, b: 0, alpha: 0 } } as const

const fit = (image: Buffer): Promise<Buffer> => sharp(image).autoOrient().ensureAlpha().resize(inside).png().toBuffer()

async function onCheckerboard(cutOut: Buffer): Promise<Buffer> {
  const { data, info } = await sharp(cutOut)
    .resize(cell, cell, { fit: 'inside' })
    .png()
    .toBuffer({ resolveWithObject: true })
  const board = await checkerboard(info.width, info.height)
    .composite([{ input: data }])
    .png()
    .toBuffer()
  return fit(board)
}

function checkerboard(width: number, height: number): Sharp {
  const side = 10
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const light = (Math.floor(x / side) + Math.floor(y / side)) % 2 === 0
      pixels.fill(light ? 255 : 204, (y * width + x) * 3, (y * width + x + 1) * 3)
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}
