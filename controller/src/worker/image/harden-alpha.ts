/** Half of the range: a pixel that is mostly subject belongs to it. */
const threshold = 128

/** Leaves only the values 0 and 255 in the last channel, in place; colour becomes 0 where alpha does. */
export function hardenAlpha(pixels: Uint8Array, channels: 1 | 4): void {
  for (let from = 0; from < pixels.length; from += channels) {
    const last = from + channels - 1
    if ((pixels[last] as number) >= threshold) pixels[last] = 255
    else for (let i = from; i <= last; i++) pixels[i] = 0
  }
}
