import { colourOdds, type Kind, type MaskedPhoto } from './colour-odds.ts'

// What the masks of a photo and of its mirror image say together (A117, A122). Each value is the higher of both: what
// one view misses the other often finds, and their mean would make half transparent what only one has found. But in a
// hole, which is background all around which a view finds subject, that view's own value counts: a window through which
// one view sees stays open, though the other takes what is behind it for the subject. What only one view takes for a
// hole is none where it has the subject's colours (A129): an eye is dark among fur, and no background.

/** Values from here on (of 255) are the subject's: 0.8, as where presence of a subject is judged (A120). */
const subjectFrom = 204
/** Up to here they are the background's. */
const backgroundTo = 51

/** `mask` becomes the joined one. `other` is the mirror image's, mirrored back; both are square and of `photo`. */
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

/** Takes away from each view's holes what the other one sees no hole in and has the subject's colours. */
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

/** The places of each hole that hangs together, by steps up, down and aside. */
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
    // A hole reaches no border, so every place in it has four neighbours.
    for (let next = 0; next < last; next++) {
      const at = found[next] as number
      for (const neighbour of [at - 1, at + 1, at - size, at + size]) add(neighbour)
    }
    yield found.slice(0, last)
  }
}

/** Times the subject's area that holes may have: a grid of thin bars has four; a frame around the photo has more. */
const holesMax = 8

/** 1 in the holes. None where there is hardly anything beside them: what the view sees is a frame, and no subject. */
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

/** 1 where the border is reached over values below the subject's, by steps up, down and aside. */
function findOutside(mask: Uint8Array, size: number): Uint8Array {
  const outside = new Uint8Array(mask.length)
  // Each place is put there once.
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
