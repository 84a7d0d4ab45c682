import type { Random } from './random.ts'

/** `tune` chooses numbers, `report` reports them; they share no source and no background. */
export type Part = 'tune' | 'report'

export type Size = { readonly width: number; readonly height: number }

/** RGBA, 8 bits, straight alpha: the true alpha and foreground colours. */
export type Pixels = Size & { readonly rgba: Uint8Array }

/** Description of a picture that is not drawn yet. */
export type Case = Size & {
  /** Unique; also the name of its files. */
  readonly name: string
  /** Row of the tables: `hair`, `holes`, `12 MP`. */
  readonly kind: string
  readonly part: Part
  /** The foreground alone, at the picture's size. */
  readonly drawForeground: (size: Size, random: Random) => Promise<Pixels>
}

/** A picture as the programs under test get it, with its truth. */
export type Picture = {
  readonly name: string
  readonly kind: string
  readonly part: Part
  /** PNG up to 2 megapixels, JPEG above. */
  readonly file: Buffer
  /** Path of the file, for other programs. */
  readonly path: string
  readonly truth: Pixels
  /** False: the truth has an alpha, and its colours are the photo's. */
  readonly hasColours: boolean
}
