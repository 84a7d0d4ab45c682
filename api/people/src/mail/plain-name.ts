// Mail programs turn addresses into links, so a user's name in a mail must not contain a link, an address or markup.

/** RegExp source of valid team names: no line break, markup, web or mail address. */
export const plainNamePattern = '^[^\\s\\u0000-\\u001f\\u007f<>/\\\\@][^\\u0000-\\u001f\\u007f<>/\\\\@]*$'

/** Longest name in a mail, which is the longest name of a team. */
const lengthMax = 80

const refused = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>/\\@]+/gu

/** A dot or colon as in `example.com`, `https://` or `javascript:alert`, but not in initials such as J.R. */
const joint = /[.:。．｡：](?=[\p{L}\p{M}\p{N}]{2}|\/)/gu

/** Returns the name without unsafe characters; undefined if no letter or digit remains. */
export function plainName(name: string): string | undefined {
  const cleaned = name.normalize('NFKC').replace(joint, ' ').replace(refused, ' ').replace(/\s+/g, ' ').trim()
  const short = Array.from(cleaned).slice(0, lengthMax).join('').trim()
  return /[\p{L}\p{N}]/u.test(short) ? short : undefined
}
