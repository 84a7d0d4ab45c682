// The part of the conformance suite in `make test`; cases.test.ts has all cases.
import { cases } from './cases.ts'
import { defineCases } from './support/define-cases.ts'

defineCases(
  'conformance, the core',
  cases.filter(({ core }) => core),
)
