/** For `validateSearch` of a route whose page has tabs. The first load has it, so it is apart from the tabs. */
export const readTab = (search: Record<string, unknown>): { tab?: string } =>
  typeof search.tab === 'string' ? { tab: search.tab } : {}
