// How the search of the site finds pages. The index of the words is VitePress's own.
import type { SearchOptions } from 'minisearch'

/** Words and phrases that readers use for the same thing. The documents may have any of them. */
const synonyms: readonly (readonly string[])[] = [
  [
    'quick start',
    'quickstart',
    'getting started',
    'get started',
    'first step',
    'tutorial',
    'one machine',
    'two commands',
  ],
  ['bulk', 'batch', 'batches', 'many photos', 'many images', 'folder', '10000'],
  ['price', 'pricing', 'cost', 'credit', 'pay', 'pays', 'charge', 'bill'],
  ['remove background', 'remove the background', 'background removal', 'cut-out', 'cutout', 'transparent'],
  ['delete', 'erase', 'erasure', 'deletion'],
  ['how long', 'keep', 'kept', 'retention', 'deletion'],
  ['privacy', 'gdpr', 'dsgvo', 'personal data', 'erase'],
  ['limit', 'rate limit', 'quota'],
  ['429', 'rate limit', 'too many requests', 'throttle'],
  ['heic', 'heif', 'avif', 'tiff', 'format not supported'],
  ['exif', 'orientation', 'metadata'],
  ['resolution', 'megapixel', 'pixel', 'file size'],
  ['white', 'background colour', 'background color'],
  ['own model', 'custom model', 'add a model'],
  ['gpu', 'cuda', 'nvidia'],
  ['sso', 'oidc', 'saml', 'sign-in', 'login'],
  ['2fa', 'mfa', 'two-factor'],
  ['jpg', 'jpeg'],
]

/** Words of a question that say nothing about its answer. */
const empty = new Set(
  'a an and are be by can do does for from get how i if in is it its my of on or the to what when where which with you'
    .split(' ')
    .concat('your'),
)

/** In the singular: the search finds longer words too, so the plural as well. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 4 ? word.replace(/s$/, '') : word))

/** The words of a query, then those that mean the same. */
function tokenize(query: string): string[] {
  const words = wordsOf(query)
  const phrase = ` ${words.join(' ')} `
  const same = synonyms.filter((group) => group.some((one) => phrase.includes(` ${wordsOf(one).join(' ')} `)))
  const meant = [...words, ...same.flat().flatMap(wordsOf)].filter((word) => !empty.has(word))
  return [...new Set(meant.length > 0 ? meant : words)]
}

/** Pages that answer one question from its beginning to its end. */
const isGuide = (id: string): boolean => /^\/docs\/(cookbook|leaving-remove-bg|what-we-keep)/.test(id)

/** Pages that mention everything, and answer few questions. */
const isRecord = (id: string): boolean =>
  /^\/docs\/(api\/deprecated|changelog|decisions|operator-proof|tritonpool-reference)/.test(id)

export const searchOptions: SearchOptions = {
  tokenize,
  combineWith: 'OR',
  prefix: (term) => term.length > 2,
  fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  boost: { title: 6, titles: 1.5, text: 1 },
  boostDocument: (id) => (isGuide(String(id)) ? 2 : isRecord(String(id)) ? 0.2 : 1),
}
