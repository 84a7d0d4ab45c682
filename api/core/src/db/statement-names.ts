// Statements that come again are prepared under a name, once a connection: the database then neither parses nor plans
// them each time, which for the statements of a creation was more than half of its work.
//
// A prepared `select *` or `returning *` breaks when a migration of a newer release adds a column ("cached plan must
// not change result type"). Its connection is then given up, and all names change, so that every other connection
// prepares again before it meets the same: one request of a process fails, and only if it was in a transaction.

/** Texts that are known; lists of changing length make new ones, and those past the bound stay unnamed. */
const textsMax = 500

export type StatementNames = {
  /** Undefined: not seen before, not worth it, or too many are known. */
  nameOf(text: string): string | undefined
  /** Call it when a prepared statement turned out to be stale. */
  renew(): void
}

export function statementNames(): StatementNames {
  const seen = new Map<string, string | undefined>()
  let given = 0
  return {
    nameOf: (text) => {
      const name = seen.get(text)
      if (name !== undefined) return name
      if (seen.has(text)) {
        given += 1 // never used twice, also not after a renewal
        seen.set(text, `s${given}`)
        return `s${given}`
      }
      if (seen.size < textsMax) seen.set(text, undefined)
      return undefined
    },
    renew: () => seen.clear(),
  }
}
