// A page of the site, before the layout surrounds it.

/** Groups of the navigation, in its order. */
export const groups = [
  'Start',
  'API reference',
  'Guides',
  'Clients',
  'Webhook events',
  'Error codes',
  'Operations',
  'Runbooks',
  'Triton pools',
  'Project',
] as const

export type Group = (typeof groups)[number]

export type Heading = { readonly level: number; readonly id: string; readonly text: string }

export type Page = {
  /** Path below `/docs/`; empty for the home page. */
  readonly path: string
  readonly title: string
  /** Text in the navigation; the title by default. */
  readonly label?: string
  readonly group: Group
  readonly html: string
  readonly headings: readonly Heading[]
}

export const basePath = '/docs/'

export const urlOf = (path: string): string => `${basePath}${path}`
