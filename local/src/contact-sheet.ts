import sharp, { type OverlayOptions, type Sharp } from 'sharp'

export type SheetRow = { readonly photo: Buffer; readonly cutOut: Buffer }

const cellWidth = 300
const gap = 12

/** One PNG with a row per photo: the photo, the alpha in grey, the cut-out on a checkerboard. */
export async function contactSheet(rows: readonly SheetRow[]): Promise<Buffer> {
  const overlays: OverlayOptions[] = []
  let top = gap
  for (const { photo, cutOut } of rows) {
    const alpha = await sharp(cutOut).extractChannel('alpha').toColourspace('srgb').png().toBuffer()
    const cells = [await fit(photo), await fit(alpha), await onCheckerboard(cutOut)]
    const { height = 0 } = await sharp(cells[0]).metadata()
    for (const [column, input] of cells.entries()) {
      overlays.push({ input, top, left: gap + column * (cellWidth + gap) })
    }
    top += height + gap
  }
  const size = { width: gap + 3 * (cellWidth + gap), height: top }
  return sharp({ create: { ...size, channels: 3, background: '#f4f4f5' } })
    .composite(overlays)
    .png({ palette: false })
    .toBuffer()
}

const fit = (image: Buffer): Promise<Buffer> => sharp(image).autoOrient().resize({ width: cellWidth }).png().toBuffer()

async function onCheckerboard(cutOut: Buffer): Promise<Buffer> {
  const { data, info } = await sharp(cutOut).resize({ width: cellWidth }).png().toBuffer({ resolveWithObject: true })
  return checkerboard(info.width, info.height)
    .composite([{ input: data }])
    .png()
    .toBuffer()
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
