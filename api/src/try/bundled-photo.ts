import { readFileSync } from 'node:fs'

/** NASA's photo of a rocket, which the image has beside its programs. */
export const readBundledPhoto = (): Buffer => readFileSync(new URL('./try.jpg', import.meta.url))
