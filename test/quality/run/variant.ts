import type { Photo } from '@matte/controller/worker/image/decode'
import type { Pixels } from '../data/case.ts'
import type { Network } from './model.ts'

/**
 * One way to make a cut-out: RGBA, `width * height * 4` bytes, not premultiplied. `photo` is upright 8-bit sRGB and may
 * be consumed; the network may be asked more than once and with whatever input. `truth` is for what shows how good a
 * step could be at best.
 */
export type Variant = (photo: Photo, network: Network, truth: Pixels) => Promise<Uint8Array>
