/** A page of the site as Markdown. Links to other pages are written `/docs/PATH`; `linkPages` makes them relative. */
export type Page = { readonly path: string; readonly title: string; readonly markdown: string }

export const basePath = '/docs/'

export const urlOf = (path: string): string => `${basePath}${path}`

/** Anchor of a heading as GitHub makes it, so links work there and here. */
export const slugOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
