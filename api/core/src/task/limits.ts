/** Attempts of one run, and milliseconds between them (D32). */
export const maxAttempts = 5
export const attemptGapsMs = [1_000, 5_000, 15_000, 60_000] as const

/** Retries of a failed task by its caller (D33). */
export const maxRetries = 3

/** Credits per image (D7, D31). */
export const creditCost = 1
