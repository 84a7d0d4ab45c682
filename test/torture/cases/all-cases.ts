import { colourCases } from './colour.ts'
import { damagedCases } from './damaged.ts'
import { kindCases } from './kind.ts'
import type { TortureCase } from './outcome.ts'
import { pressCases } from './press.ts'

/** All files with their expected outcomes. */
export const tortureCases: readonly TortureCase[] = [...kindCases, ...colourCases, ...pressCases, ...damagedCases]
