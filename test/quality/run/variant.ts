import type { Photo } from '@matte/controller/worker/image/cut-out/sample-cells'
import type { Pixels } from '../data/case.ts'
import type { Network } from './model.ts'

/**
 * Makes a cut-out: RGBA, `width * height * 4` bytes, straight alpha. `photo` is upright 8-bit sRGB and may be consumed;
 * the network may run several times, with any input. `truth` is for upper bounds.
 */
export type Variant = (photo: Photo, network: Network, truth: Pixels) => Promise<Uint8Array>
