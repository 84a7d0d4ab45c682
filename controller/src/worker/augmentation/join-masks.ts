import { colourOdds, type Kind, type MaskedPhoto } from './colour-odds.ts'

// Joins the masks of a photo and of its mirror image by taking the higher value: one view often finds what the other
// misses, and a mean would make that half transparent. In a hole (background enclosed by subject) the view that sees
// the hole wins. A hole seen by one view only and coloured like the subject is closed: an eye in dark fur is not
// background.

/** Lowest value (of 255) that counts as subject. */
const subjectFrom = 204
/** Highest value that counts as background. */
const backgroundTo = 51

/** Writes the joined mask into `mask`. `other` is the mirror view's mask, mirrored back; both are square. */
export function joinMasks(mask: Uint8Array, other: Uint8Array, photo: MaskedPhoto): void {
  const size = Math.sqrt(mask.length)
  const holes = findHoles(mask, size)
  const otherHoles = findHoles(other, size)
  closeHoles({ mask, other, holes, otherHoles }, photo, size)
  for (let i = 0; i < mask.length; i++) {
    const [own, others] = [mask[i] as number, other[i] as number]
    if (holes[i] === 1 && otherHoles[i] === 1) mask[i] = Math.min(own, others)
    else if (otherHoles[i] === 1) mask[i] = others
    else if (holes[i] !== 1) mask[i] = Math.max(own, others)
  }
}

type Views = {
  readonly mask: Uint8Array
  readonly other: Uint8Array
  readonly holes: Uint8Array
  readonly otherHoles: Uint8Array
}

/** Removes holes of one view that the other does not confirm and that have the subject's colours. */
function closeHoles({ mask, other, holes, otherHoles }: Views, photo: MaskedPhoto, size: number): void {
  if (!holes.includes(1) && !otherHoles.includes(1)) return
  const kindAt = (at: number): Kind => {
    const [own, others] = [mask[at] as number, other[at] as number]
    if (own >= subjectFrom && others >= subjectFrom) return 'subject'
    const isOutside = holes[at] === 0 && otherHoles[at] === 0
    return own < backgroundTo && others < backgroundTo && isOutside ? 'background' : 'unsure'
  }
  const odds = colourOdds(photo, size, kindAt)
  const before = Uint8Array.from(holes)
  for (const [own, others] of [
    [holes, otherHoles],
    [otherHoles, before],
  ] as const) {
    for (const hole of eachHole(own, size)) {
      const lone = hole.filter((at) => others[at] === 0)
      if (lone.reduce((sum, at) => sum + odds(at), 0) < 0) for (const at of lone) own[at] = 0
    }
  }
}

function* eachHole(holes: Uint8Array, size: number): Generator<Uint32Array> {
  const seen = new Uint8Array(holes.length)
  const found = new Uint32Array(holes.length)
  for (let start = 0; start < holes.length; start++) {
    if (holes[start] === 0 || seen[start] === 1) continue
    let last = 0
    const add = (at: number): void => {
      if (holes[at] !== 1 || seen[at] === 1) return
      seen[at] = 1
      found[last++] = at
    }
    add(start)
    // A hole never touches the border, so every position has four neighbours.
    for (let next = 0; next < last; next++) {
      const at = found[next] as number
      for (const neighbour of [at - 1, at + 1, at - size, at + size]) add(neighbour)
    }
    yield found.slice(0, last)
  }
}

/** Largest hole area, as a multiple of the subject's: a grid of thin bars has four, a frame around the photo more. */
const holesMax = 8

/** Marks holes with 1. Returns none when the "subject" is only a frame around them. */
function findHoles(mask: Uint8Array, size: number): Uint8Array {
  const holes = new Uint8Array(mask.length)
  const outside = findOutside(mask, size)
  let [subjects, inHoles] = [0, 0]
  for (let i = 0; i < mask.length; i++) {
    if ((mask[i] as number) >= subjectFrom) subjects++
    else if (outside[i] === 0) {
      holes[i] = 1
      inHoles++
    }
  }
  return inHoles > holesMax * subjects ? holes.fill(0) : holes
}

function findOutside(mask: Uint8Array, size: number): Uint8Array {
  const outside = new Uint8Array(mask.length)
  const found = new Uint32Array(mask.length)
  let last = 0
  const add = (at: number): void => {
    if (outside[at] === 1 || (mask[at] as number) >= subjectFrom) return
    outside[at] = 1
    found[last++] = at
  }
  for (let i = 0; i < size; i++) {
    add(i)
    add(mask.length - 1 - i)
    add(i * size)
    add(i * size + size - 1)
  }
  while (last > 0) {
    const at = found[--last] as number
    const x = at % size
    if (x > 0) add(at - 1)
    if (x < size - 1) add(at + 1)
    if (at >= size) add(at - size)
    if (at < mask.length - size) add(at + size)
  }
  return outside
}
