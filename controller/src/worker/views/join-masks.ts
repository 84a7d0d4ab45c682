// What the masks of a photo and of its mirror image say together (A117, A122). Each value is the higher of both: what
// one view misses the other often finds, and their mean would make half transparent what only one has found. But in a
// hole, which is background all around which a view finds subject, that view's own value counts: a window through which
// one view sees stays open, though the other takes what is behind it for the subject.

/** Values from here on (of 255) are the subject's: 0.8, as where presence of a subject is judged (A120). */
const subjectFrom = 204

/** `mask` becomes the joined one. `mirrored` is that of the mirror image; both have `size` values a side. */
export function joinMirrored(mask: Uint8Array, mirrored: Uint8Array, size: number): void {
  const other = flip(mirrored, size)
  const holes = findHoles(mask, size)
  const otherHoles = findHoles(other, size)
  for (let i = 0; i < mask.length; i++) {
    const [own, others] = [mask[i] as number, other[i] as number]
    if (holes[i] === 1 && otherHoles[i] === 1) mask[i] = Math.min(own, others)
    else if (otherHoles[i] === 1) mask[i] = others
    else if (holes[i] !== 1) mask[i] = Math.max(own, others)
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

function flip(mask: Uint8Array, size: number): Uint8Array {
  const flipped = Uint8Array.from(mask)
  for (let row = 0; row < flipped.length; row += size) flipped.subarray(row, row + size).reverse()
  return flipped
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
