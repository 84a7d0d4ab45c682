import type { Photo } from '@matte/controller/worker/image/decode'
import type { Ask } from './model.ts'

/**
 * One way to make a cut-out: RGBA, `width * height * 4` bytes, not premultiplied. `photo` is upright 8-bit sRGB and may
 * be consumed; `ask` may be called more than once and with whatever input.
 */
export type Variant = (photo: Photo, ask: Ask) => Promise<Uint8Array>
