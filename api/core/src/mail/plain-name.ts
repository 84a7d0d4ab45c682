// Names that users choose, in mails to other people (A144). A name must not carry a link, an address or markup, because
// a mail program makes links of them and the mail has the service's sender.

/** Names accepted for teams: no line break, markup, web or mail address. The source of a RegExp. */
export const plainNamePattern = '^[^\\s\\u0000-\\u001f\\u007f<>/\\\\@][^\\u0000-\\u001f\\u007f<>/\\\\@]*$'

/** Longest name in a mail; longer ones are cut. The same as the longest name of a team. */
const lengthMax = 80

/** Control and format characters (line breaks, marks of direction), markup, and parts of addresses. */
const refused = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>/\\@]+/gu

/** A dot or colon as in `example.com`, `https://` or `javascript:alert`. Initials such as J.R. stay. */
const joint = /[.:。．｡：](?=[\p{L}\p{M}\p{N}]{2}|\/)/gu

/** The name as a mail may show it; undefined if nothing of it is left. */
export function plainName(name: string): string | undefined {
  const cleaned = name.normalize('NFKC').replace(joint, ' ').replace(refused, ' ').replace(/\s+/g, ' ').trim()
  const short = Array.from(cleaned).slice(0, lengthMax).join('').trim()
  return /[\p{L}\p{N}]/u.test(short) ? short : undefined
}
