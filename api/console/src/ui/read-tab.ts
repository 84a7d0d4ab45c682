/** For `validateSearch` of a route whose page has tabs. Apart from them, since every page loads the routes. */
export const readTab = (search: Record<string, unknown>): { tab?: string } =>
  typeof search.tab === 'string' ? { tab: search.tab } : {}
