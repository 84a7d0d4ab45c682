// A reporter of vitest that writes errors outside the tests into the file that MATTE_ERRORS names. The JSON report of
// vitest lacks them.
import { writeFileSync } from 'node:fs'

export default class ErrorsReporter {
  onTestRunEnd(_modules: unknown, errors: readonly { readonly message?: string }[]): void {
    const file = process.env.MATTE_ERRORS
    if (file) writeFileSync(file, JSON.stringify(errors.map(({ message = 'no message' }) => message)))
  }
}
