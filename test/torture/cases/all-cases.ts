import { colourCases } from './colour.ts'
import { damagedCases } from './damaged.ts'
import { kindCases } from './kind.ts'
import type { TortureCase } from './outcome.ts'
import { pressCases } from './press.ts'

/** The whole set: each file with what becomes of it. */
export const tortureCases: readonly TortureCase[] = [...kindCases, ...colourCases, ...pressCases, ...damagedCases]
