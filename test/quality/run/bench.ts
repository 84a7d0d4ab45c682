// Draws, cuts out and measures one picture at a time.
import { createHash } from 'node:crypto'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import type { Say } from '@matte/local/say'
import sharp from 'sharp'
import type { Picture } from '../data/case.ts'
import { measure } from '../metrics/measure.ts'
import { isPeer, type PeerFiles, runPeers } from '../peers/run-peers.ts'
import type { Sheet, Shown } from '../report/sheet.ts'
import type { Row } from '../report/table.ts'
import type { Network } from './model.ts'
import type { Variant } from './variant.ts'

export type Bench = {
  readonly pictures: readonly (() => Promise<Picture>)[]
  /** `NAME`, or `NAME@MODEL`. */
  readonly what: readonly string[]
  readonly variants: Readonly<Record<string, Variant>>
  /** Models by name; '' is the product's. */
  readonly models: ReadonlyMap<string, Network>
  readonly sheet: Sheet | undefined
  readonly say: Say
}

export async function runBench(bench: Bench): Promise<Row[]> {
  const { pictures, what, sheet, say } = bench
  const peerFiles = await askPeers(bench)
  await sheet?.clear()
  const rows: Row[] = []
  for (const [index, read] of pictures.entries()) {
    const picture = await read()
    const shown: Shown[] = []
    for (const variant of what) {
      const file = peerFiles.get(`${picture.name} ${variant}`)
      // Some programs skip pictures.
      if (file === undefined && isPeer(variant)) continue
      const rgba = file === undefined ? await cutOutBy(variant, picture, bench) : await readRgba(file)
      const scores = measure(picture, rgba)
      rows.push({ picture: picture.name, kind: picture.kind, variant, scores })
      shown.push({ variant, rgba, scores })
    }
    await sheet?.add(picture, shown)
    if ((index + 1) % 20 === 0) say(`${index + 1} of ${pictures.length} pictures`)
  }
  return rows
}

/** Runs first, because its program takes a list; earlier results come from the cache. */
async function askPeers({ pictures, what, say }: Bench): Promise<PeerFiles> {
  const names = what.filter(isPeer)
  if (names.length === 0) return new Map()
  const located = []
  for (const read of pictures) {
    const { name, path, file, truth } = await read()
    const digest = createHash('sha256').update(file).digest('hex').slice(0, 24)
    located.push({ name, path, digest, pixels: truth.width * truth.height })
  }
  return runPeers(located, names, say)
}

async function cutOutBy(what: string, picture: Picture, bench: Bench): Promise<Uint8Array> {
  const { variants, models } = bench
  const [name = '', model = ''] = what.split('@')
  const variant = variants[name]
  const network = models.get(model)
  if (variant === undefined || network === undefined) {
    throw new Error(`no such variant: ${what}. There are ${Object.keys(variants).join(', ')}`)
  }
  return variant(await decodePhoto(picture.file, 60e6), network, picture.truth)
}

const readRgba = (file: string): Promise<Buffer> =>
  sharp(file, { limitInputPixels: false }).ensureAlpha().raw().toBuffer()
