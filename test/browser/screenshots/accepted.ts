// Accepted pictures of pages, one folder per theme and width. They are small: text is a grey texture in them, so
// another rasterizer or another number changes little. A part that moved, grew, vanished or changed its colour shows.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pixelmatch from 'pixelmatch'
import sharp, { type Sharp } from 'sharp'

const folderOf = (variant: string): string => join(import.meta.dirname, 'accepted', variant)
const fileOf = ({ variant, name }: Picture): string => join(folderOf(variant), `${name}.webp`)

type Picture = { readonly variant: string; readonly name: string }
type Taken = Picture & { readonly picture: Uint8Array }

/** A third of a phone's width, a tenth of the widest screen's. */
const smallWidth = (width: number): number => (width < 640 ? width / 3 : 256)

/** Distance of two colours that counts as a difference, of 1. Compression and rasterizers stay below. */
const threshold = 0.12
/** Share of a picture that may differ. */
const shareMax = 0.005
/** Share of the height by which a page may be longer or shorter, such as by a line of text. */
const heightShareMax = 0.03

export async function acceptPicture({ picture, ...of }: Taken): Promise<void> {
  mkdirSync(folderOf(of.variant), { recursive: true })
  await (await shrink(picture)).webp({ quality: 55, smartSubsample: true, effort: 6 }).toFile(fileOf(of))
}

export const listAccepted = (variant: string): string[] =>
  existsSync(folderOf(variant)) ? readdirSync(folderOf(variant)).map((file) => file.replace(/\.webp$/, '')) : []

export const removeAccepted = (variant: string, name: string): void => rmSync(fileOf({ variant, name }))

/** Describes the difference to the accepted picture, and draws it into `diffFile`. Undefined: they look the same. */
export async function comparePicture({
  picture,
  diffFile,
  ...of
}: Taken & { readonly diffFile: string }): Promise<string | undefined> {
  if (!existsSync(fileOf(of))) return 'there is no accepted picture'
  const [is, was] = await Promise.all([pixelsOf(await shrink(picture)), pixelsOf(sharp(readFileSync(fileOf(of))))])
  if (is.width !== was.width) return `${is.width} pixels wide, accepted are ${was.width}`
  if (Math.abs(is.height - was.height) > Math.max(2, heightShareMax * was.height)) {
    return `height ${is.height}, accepted is ${was.height}`
  }
  const [width, height] = [is.width, Math.min(is.height, was.height)]
  const diff = new Uint8Array(width * height * 4)
  const same = width * height * 4
  const options = { threshold, includeAA: true }
  const differing = pixelmatch(is.data.subarray(0, same), was.data.subarray(0, same), diff, width, height, options)
  const share = differing / (width * height)
  if (share <= shareMax) return undefined
  await sharp(diff, { raw: { width, height, channels: 4 } })
    .png()
    .toFile(diffFile)
  return `${(100 * share).toFixed(2)} % differ, at most ${100 * shareMax} % may`
}

async function shrink(picture: Uint8Array): Promise<Sharp> {
  const { width } = await sharp(picture).metadata()
  return sharp(picture).resize({ width: Math.round(smallWidth(width)), kernel: 'cubic' })
}

async function pixelsOf(image: Sharp): Promise<{ data: Uint8Array; width: number; height: number }> {
  const { data, info } = await image.ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  return { data, width: info.width, height: info.height }
}
