/** Anchor of a heading as GitHub makes it, so links work there and here. */
export const slugOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Gives each heading of one page its own anchor; a repeated title gets a number. */
export function createSlugger(): (title: string) => string {
  const taken = new Set<string>()
  return (title) => {
    const slug = slugOf(title)
    let anchor = slug
    for (let copy = 1; taken.has(anchor); copy++) anchor = `${slug}-${copy}`
    taken.add(anchor)
    return anchor
  }
}
