// A folder of photos with their true alpha.
import { readdir, readFile } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import sharp from 'sharp'
import type { Picture } from '../data/case.ts'

const pixelsMax = 60e6

/**
 * `NAME.jpg` (png, webp) with `NAME.alpha.png` (grey, or an alpha channel), and `NAME.foreground.png` if the true
 * colours are known; without it the fringe is not measured.
 */
export async function readPairs(folder: string): Promise<(() => Promise<Picture>)[]> {
  const files = await readdir(folder)
  const stems = files.filter((file) => file.endsWith('.alpha.png')).map((file) => file.slice(0, -'.alpha.png'.length))
  if (stems.length === 0) throw new Error(`${folder} has no file that ends in .alpha.png`)
  return stems.sort().map((stem) => {
    const photo = files.find((file) => basename(file, extname(file)) === stem && /\.(png|jpe?g|webp)$/.test(file))
    if (photo === undefined) throw new Error(`${stem}.alpha.png in ${folder} has no photo beside it`)
    return () => readPair(resolve(folder), { stem, photo, hasColours: files.includes(`${stem}.foreground.png`) })
  })
}

type Pair = { readonly stem: string; readonly photo: string; readonly hasColours: boolean }

async function readPair(folder: string, { stem, photo, hasColours }: Pair): Promise<Picture> {
  const path = join(folder, photo)
  const file = await readFile(path)
  const { pixels, channels, width, height } = await decodePhoto(file, pixelsMax)
  const alpha = await readAlpha(join(folder, `${stem}.alpha.png`))
  if (alpha.length !== width * height) throw new Error(`${stem}.alpha.png has another size than ${photo}`)
  const colours = hasColours ? await readColours(join(folder, `${stem}.foreground.png`)) : undefined
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0; i < alpha.length; i++) {
    const from = colours?.subarray(i * 3, i * 3 + 3) ?? pixels.subarray(i * channels, i * channels + 3)
    rgba.set(from, i * 4)
    rgba[i * 4 + 3] = alpha[i] as number
  }
  const name = `${basename(folder)}-${stem}`
  return { name, kind: basename(folder), part: 'report', file, path, truth: { width, height, rgba }, hasColours }
}

async function readAlpha(path: string): Promise<Buffer> {
  const image = sharp(path, { limitInputPixels: false })
  const { hasAlpha } = await image.metadata()
  return image
    .extractChannel(hasAlpha ? 'alpha' : 0)
    .raw({ depth: 'uchar' })
    .toBuffer()
}

const readColours = (path: string): Promise<Buffer> =>
  sharp(path, { limitInputPixels: false }).toColourspace('srgb').removeAlpha().raw({ depth: 'uchar' }).toBuffer()
