import type { Random } from './random.ts'

/** Numbers are chosen on `tune` and told of `report`; no source and no background is in both. */
export type Part = 'tune' | 'report'

export type Size = { readonly width: number; readonly height: number }

/** RGBA, 8 bits, not premultiplied: the true alpha and the true colours of the foreground. */
export type Pixels = Size & { readonly rgba: Uint8Array }

/** One picture of the bench, described and not yet drawn. */
export type Case = Size & {
  /** Unique; also the name of its files. */
  readonly name: string
  /** The row of the tables that it counts to: `hair`, `holes`, `12 MP`. */
  readonly kind: string
  readonly part: Part
  /** The foreground alone, at the picture's size. */
  readonly drawForeground: (size: Size, random: Random) => Promise<Pixels>
}

/** A picture as the programs under test get it, with what they should have found. */
export type Picture = {
  readonly name: string
  readonly kind: string
  readonly part: Part
  /** PNG up to 2 megapixels, JPEG above. */
  readonly file: Buffer
  /** Where the file lies, for programs that are not ours. */
  readonly path: string
  readonly truth: Pixels
  /** False: the truth has an alpha, and its colours are the photo's. */
  readonly hasColours: boolean
}
